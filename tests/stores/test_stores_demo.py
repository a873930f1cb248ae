"""The demo's stores: there once, and never over what staff corrected."""

from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.conf import settings
from django.utils import timezone

import stores.demo
from stores.models import Locality, OpeningException, OpeningHours, Store, StoreAlias
from stores.selectors import opening_state

pytestmark = pytest.mark.django_db
FIXTURES = Path(settings.BASE_DIR) / "fixtures"


def counts() -> list[int]:
    return [model.objects.count() for model in (Store, StoreAlias, OpeningHours, OpeningException, Locality)]


def test_loading_again_changes_nothing() -> None:
    stores.demo.load(FIXTURES)
    before = counts()
    assert before[0] == 5
    assert before[4] >= 140
    stores.demo.load(FIXTURES)
    assert counts() == before


def test_loading_again_keeps_the_staffs_changes() -> None:
    stores.demo.load(FIXTURES)
    Store.objects.filter(pk=101).update(phone="+97235559999")
    OpeningHours.objects.filter(store_id=102).delete()
    today = timezone.localdate()
    OpeningException.objects.create(
        store_id=103, date=today + timedelta(days=1), closed=True, note_en="Stock-taking"
    )
    stores.demo.load(FIXTURES)
    assert str(Store.objects.get(pk=101).phone.as_e164) == "+97235559999"
    assert not OpeningHours.objects.filter(store_id=102).exists()
    assert OpeningException.objects.filter(note_en="Stock-taking").count() == 1


def test_loading_again_moves_the_demos_holidays_to_todays_calendar() -> None:
    with time_machine.travel("2028-01-05 10:00:00+00:00", tick=False):
        stores.demo.load(FIXTURES)
        first = set(OpeningException.objects.values_list("store_id", "date"))
    with time_machine.travel("2028-01-06 10:00:00+00:00", tick=False):
        stores.demo.load(FIXTURES)
        second = set(OpeningException.objects.values_list("store_id", "date"))
    assert second == {(store, day + timedelta(days=1)) for store, day in first}


def test_the_branches_are_those_of_the_specification() -> None:
    stores.demo.load(FIXTURES)
    online = Store.objects.get(pk=1)
    assert (online.kind, online.lat, online.lng) == ("online", None, None)
    place = {
        store.pk: (store.name_en, store.name_he, store.lat, store.lng)
        for store in Store.objects.filter(kind="branch")
    }
    assert place == {
        101: ("Ramat Aviv, Tel Aviv", "רמת אביב, תל אביב", 32.113, 34.804),
        102: ("Dizengoff, Tel Aviv", "דיזנגוף, תל אביב", 32.075, 34.775),
        103: ("Florentin, Tel Aviv", "פלורנטין, תל אביב", 32.056, 34.769),
        104: ("Jaffa, Tel Aviv", "יפו, תל אביב", 32.054, 34.756),
    }
    for store in Store.objects.filter(kind="branch"):
        assert store.phone.is_valid()
        saturday = timezone.now() + timedelta(days=(5 - timezone.now().weekday()) % 7)
        assert opening_state(store, saturday).is_open is False
