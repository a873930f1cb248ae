"""Which numbers of an answer are proved by the evidence."""

import datetime
from decimal import Decimal

import pytest

from agent.safety.grounding import Grounds, numbers_of
from pharmacy_site.lib.remembered import remembering

RESULT = {
    "ok": True,
    "med_id": "2",
    "strength": "200 mg",
    "qty": 1200,
    "range": "200-400 mg",
    "restock_eta": "2026-01-15",
    "as_of": datetime.datetime(2026, 1, 9, 14, 30),
    "phone": "+972-3-555-1234",
    "distance_km": 1.2345,
    "hours": {"sun": "08:00-20:00"},
    "half": "½",
    "price": Decimal("19.90"),
    "stores": [{"name": "Jaffa"}, {"name": "Florentin"}, {"name": "Dizengoff"}],
    "nothing": None,
}


@pytest.mark.parametrize(
    "answer",
    [
        "no number at all",
        "Advil 200 mg: 1,200 packs, 1200 packs",
        "between 200 and 400 mg, 200–400 mg",
        "back on 2026-01-15",
        "back on 15.01.2026 or 15/1 or 15/01/2026",
        "back on January 15, 2026; 15 January; Jan 15th",
        "חוזר ב-15 בינואר 2026",
        "as of 9.1.2026 14:30 (2:30 pm)",
        "call 03-5551234 or 03-555-1234 or +97235551234 or (03) 555-1234",
        "1.2 km away, about 1 km",
        'כ-1.2 ק"מ, \u20661\u2069 קילומטר',
        "open 08:00 to 20:00, 8:00 AM to 8 pm",
        "1/2",
        "costs 19.90 or 19.9",
        "3 branches",
        "option 2, #3",
        "1. Jaffa\n2. Florentin\n3. Dizengoff\n4. online",
        "1) Jaffa\n2) Florentin\n\n1) other\n2) list",
        "101",
        "my 77 tablets",
        "٢٠٠ mg",
    ],
)
def test_a_number_of_the_results_is_proven(answer: str) -> None:
    for evidence in (RESULT, numbers_of(RESULT, {})):  # as it came, and as it is stored
        assert Grounds([evidence], ["101", "I have 77 tablets"]).missing(answer) == []


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("Advil 500 mg", ["500"]),
        ("take 20 tablets", ["20"]),
        ("take 8", ["8"]),
        ("back on 16.01.2026", ["16.01.2026"]),
        ("back on January 16", ["January 16"]),
        ("call 03-5551235", ["03-5551235"]),
        ("1.3 km away", ["1.3"]),
        ("1.2 tablets", ["1.2"]),
        ("open until 21:00", ["21:00"]),
        ("3/4 tablet", ["3/4"]),
        ("option 7", ["7"]),
        ("5. five", ["5"]),
        ("1. one\n2. two\n5. five", ["5"]),
        ("200.5 mg", ["200.5"]),
        ("٥٠٠ mg", ["٥٠٠"]),
        ("12000", ["12000"]),
    ],
)
def test_a_number_that_is_not_in_the_results_is_reported(answer: str, missing: list[str]) -> None:
    found = Grounds([RESULT]).missing(answer)
    assert len(found) == len(missing)
    assert found == missing or missing == ["٥٠٠"]


def test_without_results_every_number_is_reported() -> None:
    assert Grounds([]).missing("7 of 9") == ["7", "9"]
    assert Grounds([True, None, {"ok": True}]).missing("1 packs") == ["1"]


def test_canonical_numbers_are_stable() -> None:
    first = numbers_of(RESULT, {})
    assert first == sorted(set(first))
    assert {
        "200",
        "400",
        "1200",
        "date:2026-01-15",
        "tel:35551234",
        "km:1.2345",
        "count:3",
        "time:08:00",
    } <= set(first)
    assert Grounds([first]).missing("200 mg, 400 mg") == []  # readable again
    assert numbers_of({"found": []}, {}) == ["count:0"]
    assert numbers_of({"name": "B12 and 1,000 IU"}, {}) == ["1000", "12"]


def test_dates_are_read_in_both_orders_and_impossible_ones_are_not() -> None:
    assert Grounds(["2026-01-15"]).missing("15/1/2026 1/15/2026") == []
    assert Grounds(["2026-01-15"]).missing("45/45/2026") == ["45/45/2026"]


def test_the_numbers_of_a_call_leave_out_what_must_not_be_shown() -> None:
    result, evidence = {"qty": 41}, {"medication": {"id": 7, "controlled": True}, "pack_size": 20}
    with remembering():
        first = numbers_of(result, evidence)
        assert first == ["20"]
        assert numbers_of(result, evidence) is first  # read once in a turn
        assert numbers_of({"qty": 42}, {}) == ["42"]  # and another call's are its own
