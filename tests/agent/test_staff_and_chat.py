"""What staff change in the admin, the next answer of the chat shows; the change is in the audit log."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from talking import Talk

from agent.chat import process
from agent.chat.hub import Hub
from agent.conversation import events
from agent.conversation.handoff import hand_over
from agent.models import Conversation
from agent.threads import run_db
from inventory.models import StockMove
from prescriptions.audit import Access
from prescriptions.handoffs.services import handoff_close
from prescriptions.models import AuditEvent, Handoff

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


@pytest.mark.django_db(transaction=True)
async def test_who_waits_behind_a_closed_hand_off_reads_the_new_place_at_once() -> None:
    here = process.Process.__new__(process.Process)  # only its hub: nothing is to be answered
    here.hub = Hub()
    process._processes[asyncio.get_running_loop()] = here
    told: list[dict[str, Any]] = []
    try:
        first, second = await run_db(_wait)("en"), await run_db(_wait)("he")
        await here.hub.join(_Page(key=second.secret_hash, sent_seq=9, send_ephemeral=told.append))
        await run_db(handoff_close)(
            handoff=await run_db(_handoff_of)(first), access=Access("user:1", "admin")
        )
        while not told:
            await asyncio.sleep(0.01)
        waiting = await run_db(_handoff_of)(second)
        assert told == [{"type": "handoff.queue", "number": waiting.number, "queue": "ממתינה, הבאה בתור"}]
    finally:
        here.hub.close()


class _Page(SimpleNamespace):
    __hash__ = object.__hash__


def _wait(language: str) -> Conversation:
    conversation, _ = events.conversation_begin(language=language)
    hand_over(conversation, reason="customer_asked", run_key=str(conversation.pk))
    return conversation


def _handoff_of(conversation: Conversation) -> Handoff:
    return Handoff.objects.get(conversation_id=conversation.pk)
