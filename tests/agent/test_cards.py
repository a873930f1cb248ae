"""What the fact cards hold: words of the answer's language, plain numbers for places, and nothing that is a link."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from talking import Talk

from agent.answers import cards
from agent.answers.renderer import Renderer
from agent.inference.base import Turn
from agent.models import Conversation, ToolCall
from agent.safety.grounding import Grounds
from inventory.models import Medication, StockLevel
from stores.models import Store

Ask = Callable[..., list[dict[str, Any]]]
KINDS = {
    "medication", "stock", "equivalents", "interactions", "prescriptions", "identity", "confirm", "handoff", "sources",
}  # fmt: skip


@pytest.fixture
def ask(demo_committed: None) -> Ask:
    """Ask in a new conversation of the offline model and return the answer's cards."""

    def asked(text: str, patient: str = "") -> list[dict[str, Any]]:
        answer = Talk(patient=patient or None).ask(text)
        assert {card["kind"] for card in answer["cards"]} <= KINDS
        for text in _texts(answer["cards"]):
            assert "://" not in text and "<" not in text
        return list(answer["cards"])

    return asked


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def test_a_medication_card_has_facts_and_a_dated_source(ask: Ask) -> None:
    [card] = ask("Tell me about Ibuprofen")
    data = card["data"]
    assert (card["kind"], data["title"], data["rx"]) == ("medication", "Ibuprofen", False)
    rows = dict(data["rows"])
    assert rows["Strength"] == "200 mg"
    assert rows["Form"] == "Tablet"
    assert rows["Pack"] == "20 tablets"
    assert rows["Price on file"] == "₪24.90"
    assert re.fullmatch(r"Source: Product leaflet .*, updated \d\d\.\d\d\.\d{4}", data["source"])


def test_a_prescription_medicine_without_a_price_shows_its_tag_and_no_price(ask: Ask) -> None:
    [card] = ask("ספרו לי על אמוקסיצילין")
    data = card["data"]
    assert (data["tag"], data["rx"]) == ("במרשם", True)
    assert "מחיר רשום" not in dict(data["rows"])
    assert _bare(dict(data["rows"])["אריזה"]) == "20 קפסולות"


def test_a_branch_on_a_card_has_hours_phone_and_coordinates(ask: Ask) -> None:
    [card, _] = ask("Do you have Advil in Jaffa?")
    rows = card["data"]["stores"]
    assert [row["name"] for row in rows] == ["Florentin, Tel Aviv", "Ramat Aviv, Tel Aviv"]  # nearest first
    assert rows[0]["place"] == {"lat": 32.056, "lng": 34.769}
    assert rows[0]["phone"] == "03-555-0103"
    assert rows[0]["km"] == "1.2 km"
    assert (rows[0]["stock"], rows[0]["level"]) == ("Limited quantity: 3 units", "low")
    assert re.match(r"Open now|Closed now", rows[0]["hours"])
    assert rows[0]["open"] is rows[0]["hours"].startswith("Open")
    assert "not reserved" in card["data"]["note"]
    assert set(card["data"]["words"]) == {"call", "map", "window"}


def test_without_a_place_no_kilometres_are_shown(ask: Ask) -> None:
    [card] = ask("Which branches have Advil?")
    assert card["data"]["stores"]
    assert all(not row["km"] for row in card["data"]["stores"])


def test_the_online_store_has_no_place_on_the_map(ask: Ask) -> None:
    [card] = ask("Is Cetirizine in stock?")
    [row] = card["data"]["stores"]
    assert (row["name"], row["stock"], row["level"]) == ("Online store", "200 units", "ok")
    assert "place" not in row
    assert not row["hours"] and not row["today"]


@pytest.mark.parametrize("question", ["Do you have oxycodone in Dizengoff?", "Do you have diazepam?"])
def test_a_controlled_medicine_has_no_quantity_on_any_card(ask: Ask, question: str) -> None:
    assert not [text for text in _texts(ask(question)) if re.search(r"\d+ unit", text)]


def test_a_list_of_products_refers_to_the_branch_for_a_controlled_one(ask: Ask) -> None:
    Medication.objects.filter(name_en="Nurofen").update(schedule="III")
    [card] = ask("Which pain relievers do you have?")
    found = {row["name"].split(",")[0]: row for row in card["data"]["products"]}
    assert (found["Nurofen"]["stock"], found["Nurofen"]["level"]) == ("Contact the branch", "ask")
    assert found["Ibuprofen"]["rx"] is False


def test_equivalents_have_the_whole_disclosure_and_unranked_tags(ask: Ask) -> None:
    [card] = ask("Do you have PainAway?")
    assert card["kind"] == "equivalents"
    assert "Possible differences: price, inactive ingredients, packaging." in card["data"]["note"]
    assert all(row["tag"] and row["stock"] for row in card["data"]["products"])


def test_a_substitute_that_only_a_pharmacist_may_decide_is_not_listed(ask: Ask) -> None:
    Medication.objects.filter(name_en__in=["PainAway", "IbuTabs"]).update(substitution="pharmacist_only")
    assert ask("Is there a substitute for PainAway?") == []
    [card] = ask("Is there a substitute for Nurofen?")
    assert [row["name"].split(",")[0] for row in card["data"]["products"]] == ["Ibuprofen"]


def test_an_interaction_card_has_the_level_and_the_stored_sentence(ask: Ask) -> None:
    [card] = [card for card in ask("Can I take warfarin with ibuprofen?") if card["kind"] == "interactions"]
    [pair] = card["data"]["pairs"]
    assert pair["names"] == ["Warfarin", "Ibuprofen"]
    assert (pair["level"], pair["label"]) == ("avoid", "Not to be taken together")
    assert "cannot be taken together" in pair["text"]


def test_a_prescription_card_has_refills_and_dates(ask: Ask) -> None:
    [card] = ask("What prescriptions do I have?", patient="10000101")
    rows = card["data"]["prescriptions"]
    assert {row["name"] for row in rows} == {"Amoxicillin", "Metformin"}
    assert all(row["can_refill"] and row["refill"] == "Can be refilled" for row in rows)
    facts = dict(rows[0]["rows"])
    assert facts.keys() == {"Strength", "Directions", "Last filled", "Valid until"}
    assert re.fullmatch(r"\d+ mg", facts["Strength"])
    assert "day" in facts["Directions"]
    assert all(re.fullmatch(r"\d\d\.\d\d\.\d{4}", facts[day]) for day in ("Last filled", "Valid until"))
    assert rows[0]["ask"] == ["Refill", f"Can I refill {rows[0]['name']}?"]


@pytest.mark.parametrize(
    ("row", "facts", "verdict"),
    [
        ({"can_refill": True, "status": "active"}, {}, "yes"),
        ({"can_refill": True, "status": "active"}, {"status_known": False}, "staff"),
        ({"can_refill": True, "status": "active"}, {"schedule": "II"}, "controlled"),
        ({"can_refill": True, "status": "active"}, {"refill_pending": True}, "pending"),
        ({"can_refill": False, "status": "active"}, {}, "none_left"),
        ({"can_refill": False, "status": "expired"}, {}, "expired"),
        ({"can_refill": False, "status": "completed"}, {}, "completed"),
    ],
)
def test_a_prescriptions_state_gives_its_refill_verdict(
    row: dict[str, Any], facts: dict[str, Any], verdict: str
) -> None:
    assert cards.refill_verdict(row, facts) == verdict


def test_a_hand_off_card_has_its_number_and_reason(ask: Ask) -> None:
    [card] = ask("I want to talk to a person please")
    assert re.fullmatch(r"Request H-\d+", card["data"]["title"])
    assert dict(card["data"]["rows"]) == {
        "Status": "Waiting for our staff",
        "Reason": "You asked for a person",
    }


def test_an_identity_card_is_the_same_for_known_and_unknown_accounts(ask: Ask) -> None:
    known = ask("What prescriptions do I have? My e-mail is david.cohen@example.com")
    unknown = ask("What prescriptions do I have? My e-mail is nobody@example.com")
    assert known == unknown
    assert known[0]["kind"] == "identity"


def test_numbers_on_a_card_are_in_the_evidence_of_its_call(ask: Ask) -> None:
    Store.objects.filter(pk=103).update(lat=32.0561234567, lng=-34.7690001)
    StockLevel.objects.filter(store_id=103, medication_id=1).update(quantity=3)
    [card, _] = ask("Do you have Advil in Jaffa?")  # an answer with a loose number would have been withheld
    places = [row["place"] for row in card["data"]["stores"]]
    assert {"lat": 32.0561234567, "lng": -34.7690001} in places
    evidence = ToolCall.objects.get(name="check_stock").evidence["numbers"]
    shown = "\n".join(str(abs(number)) for place in places for number in place.values())
    grounds = Grounds([evidence])
    assert grounds.missing(shown) == []
    assert grounds.missing("32.999") == ["32.999"]


@pytest.mark.parametrize(
    ("opens", "language", "words"),
    [
        ("2026-06-03T16:00:00+03:00", "en", "Closed now, opens at 16:00"),
        ("2026-06-07T08:00:00+03:00", "en", "Closed now, opens Sunday at 08:00"),
        ("2026-06-07T08:00:00+03:00", "he", "סגור עכשיו, ייפתח ביום ראשון ב-08:00"),
        (None, "en", "Closed now"),
    ],
)
def test_a_closed_branch_shows_when_it_opens(opens: str | None, language: Any, words: str) -> None:
    now = datetime.fromisoformat("2026-06-03T14:00:00+03:00")
    view = Renderer(Turn("", language, {}, now), language)
    store = {"label_en": "Jaffa", "label_he": "יפו", "quantity": 5, "open_now": False, "opens_at": opens}
    facts = {"label_en": "Advil", "label_he": "אדוויל", "rx": False}
    [row] = cards.stock_card(view, facts, [{**store, "hours_today": []}])["data"]["stores"]
    assert _bare(row["hours"]) == words
    assert row["today"] == ("Closed today" if language == "en" else "סגור היום")


@pytest.mark.parametrize(
    ("question", "helps"),
    [
        ("Which branches do you have?", True),
        ("באילו סניפים יש אדוויל?", True),
        ("When is Jaffa open?", False),
        ("Tell me about Ibuprofen", False),
    ],
)
def test_an_answer_that_lists_branches_asks_for_the_location_until_it_is_shared(
    demo_committed: None, question: str, helps: bool
) -> None:
    assert Talk().ask(question).get("locate", False) is helps
    near = Talk()
    Conversation.objects.filter(pk=near.conversation.pk).update(latitude=32.05, longitude=34.75)
    assert "locate" not in near.ask(question)
