"""Many people at one row of the stock list: nobody overwrites what they have not seen, and a refusal says only that."""

import threading
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.urls import reverse
from served_site import ON_POSTGRESQL

from inventory.admin import stock as stock_admin
from inventory.models import Medication, StockLevel, StockMove
from inventory.services import stock_set
from prescriptions.models import AuditEvent
from stores.models import Store

LIST = reverse("admin:inventory_stocklevel_changelist")
PEOPLE = 50 if ON_POSTGRESQL else 20  # SQLite has one writer at a time


@pytest.fixture
def level(transactional_db: None) -> StockLevel:
    store, medication = (
        Store.objects.create(pk=101, name_en="Jaffa"),
        Medication.objects.create(name_en="Placebo"),
    )
    return stock_set(store=store, medication=medication, quantity=100, actor="system", reason="count")


def technician(name: str = "tech") -> Client:
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get(name="technician"))
    client = Client()
    client.force_login(user)
    return client


def form(level: StockLevel, **changes: object) -> dict[str, object]:
    """What the list's page sends for its one row, as it was when the person saw it."""
    seen = {
        "quantity": level.quantity,
        "restock_on": level.restock_on or "",
        "low_threshold": level.low_threshold,
    }
    return {
        "form-TOTAL_FORMS": 1,
        "form-INITIAL_FORMS": 1,
        "form-0-id": level.pk,
        f"seen-{level.pk}": level.version,
        **{f"initial-form-0-{name}": value for name, value in seen.items()},
        **{f"form-0-{name}": value for name, value in {**seen, **changes}.items()},
        "_save": "Save",
    }


def test_an_older_form_overwrites_neither_date_nor_threshold(level: StockLevel) -> None:
    first, second = technician("a"), technician("b")
    dated = form(level, restock_on="2030-01-15", low_threshold=4)
    counted = form(level, quantity=90)
    assert first.post(LIST, dated).status_code == 302
    refused = second.post(LIST, counted)
    assert refused.status_code == 200
    assert "Changed meanwhile" in refused.text
    assert "low at 4" in refused.text
    stored = StockLevel.objects.get()
    assert (stored.quantity, str(stored.restock_on), stored.low_threshold) == (100, "2030-01-15", 4)
    thresholds = form(level, low_threshold=7)  # the other way round: a date over a count
    assert second.post(LIST, thresholds).status_code == 200
    assert StockLevel.objects.get().low_threshold == 4


def test_the_page_of_one_row_is_refused_alike(level: StockLevel) -> None:
    client = technician()
    page = reverse("admin:inventory_stocklevel_change", args=[level.pk])
    seen = {f"seen-{level.pk}": level.version, "quantity": 100, "restock_on": "", "low_threshold": 10}
    assert client.post(page, {**seen, "low_threshold": 3}).status_code == 302
    refused = client.post(page, {**seen, "restock_on": "2030-01-15"})
    assert refused.status_code == 200
    assert "Changed meanwhile" in refused.text
    assert StockLevel.objects.get().restock_on is None


def test_a_save_that_loses_at_the_last_moment_says_so_and_nothing_else(
    level: StockLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another person saves between the check of the form and the UPDATE."""
    client, check, calls = technician(), stock_admin.StockForm.clean, []

    def checked(form: Any) -> Any:
        cleaned = check(form)
        if not calls:
            StockLevel.objects.update(version=level.version + 1, low_threshold=3)
        calls.append(1)
        return cleaned

    monkeypatch.setattr(stock_admin.StockForm, "clean", checked)
    moves = StockMove.objects.count()
    answer = client.post(LIST, form(level, quantity=90))
    assert answer.status_code == 200
    assert "was not saved" in answer.text
    assert "successfully" not in answer.text
    assert LogEntry.objects.count() == 0
    assert not AuditEvent.objects.filter(what__in=["stocklevel_changed", "stock_changed"]).exists()
    assert StockMove.objects.count() == moves


def test_many_people_at_one_row_lose_nothing(level: StockLevel) -> None:
    """Each adds one pack to what they see, and looks again when they are refused."""
    clients = [technician(f"tech-{number}") for number in range(PEOPLE)]
    refused, failures = [], []
    gate = threading.Barrier(10)

    def work(mine: list[Client]) -> None:
        try:
            gate.wait(30)
            for client in mine:
                while True:
                    seen = StockLevel.objects.get()
                    answer = client.post(LIST, form(seen, quantity=seen.quantity + 1))
                    if answer.status_code == 302:
                        break
                    assert "was not saved" in answer.text
                    assert "successfully" not in answer.text
                    refused.append(1)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(clients[number::10],)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures
    stored = StockLevel.objects.get()
    assert stored.quantity == 100 + PEOPLE
    moves = StockMove.objects.filter(actor__startswith="user:")
    assert moves.count() == PEOPLE
    assert {move.delta for move in moves} == {1}
    assert LogEntry.objects.count() == PEOPLE
    assert stored.version == level.version + PEOPLE
