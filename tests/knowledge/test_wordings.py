"""Entries are found by the wordings that staff list, with a confidence; without wordings nothing changes."""

import pytest
from knowledge_entries import published

from agent.knowledge.coverage import coverage_find
from agent.knowledge.retrieval import retrieve_by_words
from agent.knowledge.services import entries_publish
from agent.knowledge.wordings import Wordings, confidence
from agent.models import KnowledgeEntry

MORE = {n: [f"subject number {n} of the handbook"] for n in range(10, 30)}
TEXTS = {
    **MORE,
    1: [
        "Where do I keep insulin?",
        "pen left in a hot car",
        "fridge or shelf for the insulin",
        "In the fridge.",
    ],
    2: ["Is honey good for a cough?", "honey when the kid coughs at night", "A spoonful may soothe it."],
    3: ["How do I throw away old tablets?", "bag of grandma's pills, what now", "In a collection bin."],
}


def test_the_entry_whose_wordings_are_most_alike_is_the_most_similar() -> None:
    index = Wordings(TEXTS)
    for text, wanted in (
        ("insuln pen in teh hot car", 1),
        ("kids cough, honey?", 2),
        ("grandmas old pills", 3),
    ):
        similar = index.similarities(text)
        assert max(similar, key=similar.__getitem__) == wanted
        assert all(-1e-6 <= value <= 1 + 1e-6 for value in similar.values())


def test_a_text_of_an_entry_is_most_like_it_and_nothing_is_like_nothing() -> None:
    index = Wordings({**MORE, 1: ["honey for a cough"], 2: ["insulin in the fridge"]})
    assert index.similarities("honey for a cough")[1] == pytest.approx(1, abs=1e-5)
    assert set(index.similarities("zzzz").values()) == {0.0}


def test_of_a_few_entries_none_is_compared() -> None:
    assert Wordings({}).similarities("honey") == {}
    assert Wordings({1: ["honey for a cough"]}).similarities("honey for a cough") == {}


def test_confidence_grows_with_the_similarity_and_with_the_lead() -> None:
    assert confidence(0.3, 0.1) > confidence(0.2, 0.1) > confidence(0.2, 0.19)
    assert 0 < confidence(0.0, 0.5) < 0.01 and confidence(0.4, 0.1) > 0.9


@pytest.mark.usefixtures("demo")
def test_an_entry_is_found_by_a_wording_once_it_is_published() -> None:
    asked = "flamingo quarantine, glovebox"
    assert coverage_find(asked, "customer", language="en") is None
    entry = KnowledgeEntry.objects.get(entry_id="C001", language="en", role="customer")
    entry.asked_as += "\nthe flamingo quarantine in my glovebox"
    entry.save()
    assert coverage_find(asked, "customer", language="en") is None
    entries_publish(entries=[entry], actor="test")
    found = coverage_find(asked, "customer", language="en")
    assert found is not None and found.entry_id == "C001"
    assert coverage_find("what is the capital of peru", "customer", language="en") is None


@pytest.mark.django_db
def test_entries_without_wordings_have_no_confidence() -> None:
    published("A1", "Where do I keep tablets?", answer="In a dry place.")
    (found,) = retrieve_by_words("tablets", "customer", 5, language="en")
    assert found["confidence"] is None
