"""ComposeAnswer and FallbackNode: the two nodes that say what the customer reads."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from agent.knowledge.answer import Quote, Status
from agent.knowledge.coverage import TOGETHER, covering, fit, is_about, is_surely, near
from agent.knowledge.features import text_folded
from agent.knowledge.flow import prompts
from agent.knowledge.flow.calls import APIOverload, ask_yaml
from agent.knowledge.flow.orchestrating import is_follow_up, query_by_rule
from agent.knowledge.flow.quoting import Quotable, quotes_named
from agent.knowledge.flow.running import Running
from agent.knowledge.flow.state import MOST_SUGGESTIONS, Shared, asked_query, fallback
from agent.knowledge.index import IndexUnavailable
from agent.knowledge.parsing import AnswerMalformed
from agent.knowledge.questions import questions_of_topic, questions_published
from agent.knowledge.retrieval import (
    Candidate,
    FullQA,
    coverage,
    get_full_qa_by_ids,
    retrieve_both_ways,
)

_MOST_BEST: Final = 3
_CLOSE_SCORE: Final = 0.85
_CLOSE_FIT: Final = 0.1
_OWN_WORDS: Final = 0.4
"""How much of a follow-up question itself an answer must cover, when the question before it was added to the query."""
_NONE: Final = "none"
_OFFERED: Final = 8
Answered = tuple[FullQA, Quote]
"""An entry, and what is quoted of it."""


def compose(shared: Shared, running: Running) -> Shared:
    """Answer with stored texts: those that the model names, or the best without a model."""
    if running.model is None:
        return _composed(_whole(best_entries(shared, running), running), shared, running)
    found = get_full_qa_by_ids(shared.get("selected_ids", ()), shared["role"], language=running.language)
    if not found:
        return _composed([], shared, running)
    entries = [Quotable(qa, running.language) for qa in found]
    offered = _further(shared, running, found, _OFFERED)
    try:
        answered, wanted = ask_yaml(
            running,
            prompts.compose(
                shared, running.language, [(each.qa["CAUHOI"], each.parts) for each in entries], offered
            ),
            {"explanation": (str, list)},
            lambda fields: _named(fields, entries, offered),
            optional={"suggestion_questions": list},
            fast_mode=False,
        )
    except APIOverload as error:
        return fallback(error.reason)
    return _composed(answered, shared, running, wanted)


def fallback_node(shared: Shared, running: Running) -> Shared:
    """Answer without the model: the best stored answers as they are, or that there are none."""
    try:
        best = best_entries(shared, running)
        if not best:
            made = query_by_rule(shared) if is_follow_up(shared) else ""
            query = made or shared["query"]
            found = retrieve_both_ways(query, "", "", shared["role"], language=running.language)
            again: Shared = {
                **shared,
                "retrieved_candidates": found,
                "selected_ids": [],
                "retrieval_query": made,
            }
            best = best_entries(again, running)
    except IndexUnavailable:
        return {"action": "default", "answer_obj": {"status": Status.UNAVAILABLE}, "explain": ""}
    return _composed(_whole(best, running), shared, running, status=Status.STORED)


def best_entries(shared: Shared, running: Running) -> list[FullQA]:
    """Return the best answer that covers the question, with one or two more if they are about as good."""
    selected = set(shared.get("selected_ids", ()))
    good = [
        candidate
        for candidate in covering(asked_query(shared), shared.get("retrieved_candidates", []), shared["role"])
        if (not selected or candidate["id"] in selected)
        and is_about(asked_query(shared), candidate, shared["role"])
    ]
    entries = {
        qa["id"]: qa
        for qa in get_full_qa_by_ids(
            [candidate["id"] for candidate in good], shared["role"], language=running.language
        )
    }
    fitting = [one for one in good if one["id"] in entries and _fits(shared, entries[one["id"]])]
    query = asked_query(shared)
    ranked = sorted(fitting, key=lambda one: _rank(one, query, shared["role"]), reverse=True)
    return [entries[one["id"]] for one in _close(ranked, query, shared["role"])]


def _whole(entries: Iterable[FullQA], running: Running) -> list[Answered]:
    return [(qa, Quotable(qa, running.language).quote()) for qa in entries]


def _rank(candidate: Candidate, query: str, role: str) -> tuple[bool, float]:
    """Return how well a candidate answers: the question itself, word for word, before any other."""
    return text_folded(candidate["CAUHOI"]) == text_folded(query), fit(query, candidate, role)


def _fits(shared: Shared, qa: FullQA) -> bool:
    """Return whether an answer covers the question itself, not only the one before it that a rule put into the query."""
    if not (made := shared.get("retrieval_query")) or made != query_by_rule(shared):
        return True
    return coverage(shared["query"], qa, shared["role"]) >= _OWN_WORDS


def _close(candidates: Sequence[Candidate], query: str, role: str) -> list[Candidate]:
    if not candidates:
        return []
    best = candidates[0]
    if text_folded(best["CAUHOI"]) == text_folded(query):
        return [best]
    return [
        one
        for one in candidates
        if (one["confidence"] or 0.0) >= TOGETHER
        or (
            one["score"] >= _CLOSE_SCORE * best["score"]
            and fit(query, one, role) >= fit(query, best, role) - _CLOSE_FIT
        )
    ][:_MOST_BEST]


def _named(
    fields: dict[str, Any], entries: Sequence[Quotable], offered: Sequence[str]
) -> tuple[list[Answered], list[str]]:
    """Check what a model composed: it names something that was offered, or says plainly that nothing fits."""
    said = fields["explanation"]
    # A list of markers is what YAML makes of "[q1, q2.3]" without quotes.
    text = said if isinstance(said, str) else f"[{','.join(map(str, said))}]"
    quotes = quotes_named(text, entries)
    if not quotes and text.strip().strip("[].").casefold() not in ("", _NONE):
        raise AnswerMalformed("explanation: no marker")
    wanted = [str(value).strip() for value in fields.get("suggestion_questions") or ()]
    numbered = {f"s{number}": question for number, question in enumerate(offered, start=1)}
    qas = {entry.qa["id"]: entry.qa for entry in entries}
    return [(qas[quote.entry_id], quote) for quote in quotes], [
        numbered.get(text.strip("[]").lower(), text) for text in wanted
    ]


def _composed(
    answered: Sequence[Answered],
    shared: Shared,
    running: Running,
    wanted: Iterable[str] = (),
    *,
    status: Status = Status.ANSWERED,
) -> Shared:
    if not answered:
        # One of these may be meant; none is sure enough to be answered without asking.
        questions = near(shared["query"], shared.get("retrieved_candidates", ()))
        known = questions_published(questions, shared["role"], language=running.language)
        return {
            "action": "default",
            "answer_obj": {"status": Status.NOTHING},
            "explain": "",
            "suggestion_questions": known[:MOST_SUGGESTIONS],
        }
    entries, quotes = zip(*answered, strict=True)
    update: Shared = {
        "action": "default",
        "answer_obj": {
            "status": status,
            "quotes": list(quotes),
            "is_sure": _is_sure(shared, running, entries),
        },
        "explain": "\n\n".join(quote.text for quote in quotes),
        "suggestion_questions": _suggestions(shared, running, entries, wanted),
    }
    if shared.get("classification_confidence") != "high":
        update["demuc"], update["chu_de_con"] = entries[0]["DEMUC"], entries[0]["CHU_DE_CON"]
    return update


def _is_sure(shared: Shared, running: Running, answered: Sequence[FullQA]) -> bool:
    """Return whether what answers is surely meant: a model chose it, or the search was sure of one of them."""
    query, ids = asked_query(shared), {qa["id"] for qa in answered}
    return running.model is not None or any(
        is_surely(query, one) for one in shared.get("retrieved_candidates", ()) if one["id"] in ids
    )


def _suggestions(
    shared: Shared, running: Running, answered: Sequence[FullQA], wanted: Iterable[str]
) -> list[str]:
    """Return questions of the collection: those wanted that are published in it, then others of the topic."""
    known = questions_published(wanted, shared["role"], language=running.language)
    taken = _said(shared, answered)
    fresh = [question for question in known if text_folded(question) not in taken]
    others = _further(shared, running, answered, MOST_SUGGESTIONS)
    return list(dict.fromkeys([*fresh, *others]))[:MOST_SUGGESTIONS]


def _further(shared: Shared, running: Running, answered: Sequence[FullQA], most: int) -> list[str]:
    """Return other published questions on the topic of the first answer, those that were found for this question first."""
    topic, subtopic = answered[0]["DEMUC"], answered[0]["CHU_DE_CON"]
    said = _said(shared, answered)

    def fresh(questions: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(one for one in questions if text_folded(one) not in said))

    found = fresh(one["CAUHOI"] for one in shared.get("retrieved_candidates", ()) if one["DEMUC"] == topic)
    if len(found) < most:
        listed = questions_of_topic(
            shared["role"], topic, subtopic, language=running.language, most=most + len(said)
        )
        found = fresh([*found, *listed])
    return found[:most]


def _said(shared: Shared, answered: Iterable[FullQA]) -> set[str]:
    """Return the questions, folded, that are answered or were asked already."""
    asked = [message["content"] for message in shared["conversation_history"] if message["role"] == "user"]
    return {text_folded(text) for text in (*(qa["CAUHOI"] for qa in answered), *asked, shared["query"])}
