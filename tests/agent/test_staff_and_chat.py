"""What staff change in the admin, the next answer of the chat shows; the change is in the audit log."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from talking import Talk

from inventory.models import StockMove
from prescriptions.models import AuditEvent

LEVELS = "/admin/inventory/stocklevel/"


def test_stock_that_staff_change_is_in_the_next_answer_and_audited(demo_committed: None) -> None:
    assert "200 units" in Talk().say("Do you have Cetirizine?")
    user = get_user_model().objects.create_user("counter", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name="technician"))
    client = Client()
    client.force_login(user)
    page = client.get(LEVELS, {"store__id__exact": "1", "q": "Cetirizine"})
    formset = page.context["cl"].formset
    [row] = [form for form in formset.forms if form.instance.medication_id == 5]
    form = {f"form-{name}": str(value) for name, value in formset.management_form.initial.items()}
    for other in formset.forms:
        for field in other:
            form[field.html_name] = "" if field.value() is None else str(field.value())
    form[row["quantity"].html_name] = "7"
    url = f"{LEVELS}?store__id__exact=1&q=Cetirizine"
    form[f"seen-{row.instance.pk}"] = str(row.instance.version)  # which version the page showed
    assert client.post(url, {**form, "_save": "Save"}).status_code == 302

    said = Talk().say("Do you have Cetirizine?")
    assert "limited quantity" in said and "7 units" in said
    move = StockMove.objects.latest("pk")
    assert (move.delta, move.quantity_after, move.actor) == (-193, 7, f"user:{user.pk}")
    assert AuditEvent.objects.filter(who=f"user:{user.pk}", what__contains="stock").exists()
