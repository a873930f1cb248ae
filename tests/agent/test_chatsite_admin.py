"""Administrators keep the list of sites that may show the chat; every change is in the audit log."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.utils.html import escape

from agent.models import ChatSite
from prescriptions.models import AuditEvent

SITES = "/admin/agent/chatsite/"


def staff(role: str) -> Client:
    user = get_user_model().objects.create_user(f"a-{role}", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def administrator(db: None) -> Client:
    return staff("administrator")


def form(**fields: Any) -> dict[str, Any]:
    return {"name": "A shop", "origins": "https://shop.example", "is_active": "on", **fields}


def test_a_new_site_has_clean_origins_and_is_audited(administrator: Client) -> None:
    typed = "HTTPS://Shop.Example/\n\n  https://www.shop.example:8443\nhttps://shop.example"
    answer = administrator.post(f"{SITES}add/", form(origins=typed))
    assert answer.status_code == 302
    site = ChatSite.objects.get()
    assert site.origins == ["https://shop.example", "https://www.shop.example:8443"]
    assert site.public_id.startswith("pub_") and site.is_active and not site.first_party
    line = AuditEvent.objects.get(what="chatsite_added")
    assert line.where == "admin" and line.detail["origins"] == site.origins


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            ["Line 1: write a whole origin", "Line 3: only https is safe", "Line 4: this is no full host"],
        ),
        ("he", ["שורה 1:", "שורה 3: רק https מאובטח", "שורה 4:"]),
    ],
)
def test_each_invalid_origin_is_named_in_the_error(
    administrator: Client, language: str, told: list[str]
) -> None:
    administrator.cookies["django_language"] = language
    typed = "shop.example\nhttps://shop.example\nhttp://shop.example\nhttps://*.shop.example"
    answer = administrator.post(f"{SITES}add/", form(origins=typed))
    body = answer.content.decode()
    assert answer.status_code == 200 and not ChatSite.objects.exists()
    assert all(text in body for text in told) and ("Line 2" not in body and "שורה 2" not in body)
    assert escape("https://*.shop.example") in body  # what was typed is still there


def test_a_site_needs_an_origin(administrator: Client) -> None:
    assert administrator.post(f"{SITES}add/", form(origins=" \n ")).status_code == 200
    assert not ChatSite.objects.exists()


def test_the_page_shows_the_line_to_copy_with_this_host(administrator: Client) -> None:
    site = ChatSite.objects.create(name="A shop", origins=["https://shop.example"])
    body = administrator.get(f"{SITES}{site.pk}/change/").content.decode()
    line = f'<script src="http://testserver/w/v1/loader.js" data-site="{site.public_id}" data-locale="auto" async></script>'
    assert escape(line) in body
    assert "script-src http://testserver; frame-src http://testserver" in body
    assert "https://shop.example</textarea>" in body


def test_a_change_is_audited_and_the_public_id_stays(administrator: Client) -> None:
    site = ChatSite.objects.create(name="A shop", origins=["https://shop.example"])
    sent = form(origins="https://other.example", public_id="pub_mine", first_party="on")
    del sent["is_active"]
    assert administrator.post(f"{SITES}{site.pk}/change/", sent).status_code == 302
    changed = ChatSite.objects.get()
    assert (changed.public_id, changed.origins) == (site.public_id, ["https://other.example"])
    detail = AuditEvent.objects.get(what="chatsite_changed").detail
    assert detail == {
        "site": site.pk,
        "origins": ["https://other.example"],
        "first_party": True,
        "active": False,
    }


def test_a_site_can_be_switched_off_but_not_deleted(administrator: Client) -> None:
    site = ChatSite.objects.create(name="A shop", origins=["https://shop.example"])
    assert administrator.post(f"{SITES}{site.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["technician", "pharmacist", "physician", "auditor"])
def test_other_roles_cannot_change_a_site(role: str) -> None:
    site = ChatSite.objects.create(name="A shop", origins=["https://shop.example"])
    client = staff(role)
    seen = 200 if role == "auditor" else 403
    assert client.get(SITES).status_code == seen
    assert client.get(f"{SITES}{site.pk}/change/").status_code == seen
    assert client.post(f"{SITES}add/", form()).status_code == 403
    assert client.post(f"{SITES}{site.pk}/change/", form(name="Mine")).status_code == 403
    assert ChatSite.objects.get().name == "A shop"
