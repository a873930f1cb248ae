"""The addresses of staff access beside the admin's own."""

from django.urls import path

from pharmacy_site.staff import views

urlpatterns = [
    path("second-factor/", views.factor, name="staff_factor"),
    path("second-factor/setup/", views.setup, name="staff_factor_setup"),
    path("second-factor/own/", views.own, name="staff_factor_own"),
    # Before the admin's own page of this address.
    path("password_change/", views.own_password, name="staff_own_password"),
    path("new-password/<int:number>/<str:token>/", views.new_password, name="staff_link"),
]
