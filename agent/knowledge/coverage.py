"""Say whether a collection has an entry about what somebody writes, before anybody knows that it is a question for it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.knowledge.common_words import is_light
from agent.knowledge.features import text_folded
from agent.knowledge.index import IndexUnavailable
from agent.knowledge.indexing import collection_vocabulary
from agent.knowledge.relevance import COVERS, relevance
from agent.knowledge.retrieval import Candidate, coverage, get_full_qa_by_ids, retrieve_by_words
from agent.knowledge.scope import is_out_of_scope, names_the_same, scope_of
from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import words

_LOOKED_AT: Final = 8
_OF_ENTRY: Final = 0.3
"""How much of the entry's question the text must have: one common word of a long question is none of it."""
_OF_ENTRY_BY_ONE_WORD: Final = 0.6
_ASKED_FULLY: Final = 0.6
_FAR_BEHIND: Final = 0.5
CLOSE: Final = 0.75
"""From this relevance on an entry is surely what a text asks for."""
ANSWERS: Final = 0.35
"""From this confidence on an entry answers; below SURE the answer says that it only comes closest."""
SURE: Final = 0.6
"""From here on it is surely what a text asks for."""
TOGETHER: Final = 0.15
"""Each of two that answer together has at least this confidence."""
_MOST_TOGETHER: Final = 2
MAYBE: Final = 0.25
"""Enough for what follows on the question before."""
_AGAINST: Final = 0.06
"""Below this confidence an entry is not meant, however many of the words it has."""
NEAR: Final = 0.08
"""From this confidence on its question is offered."""
_HOW_LONG: Final = re.compile(
    r"how long|how many (?:days|hours|weeks)|how (?:quick|fast|soon)|תוכ כמה|כמה זמנ|כמה ימימ|עד מתי"
)
_TIME: Final = re.compile(r"(?i)minute|hour|\bdays?\b|week|month|דקות|שעות|ימים|שבוע|חודש")
_SOURCE: Final = re.compile(
    r"\bsources?\b|according to wh|who says|where (?:is|does) (?:this|that|it) (?:come )?from|מקור|לפי מי|על סמכ מה"
)
_ADDED: Final = 0.3
"""How much of what a follow-up adds an entry's question must have, if the question before and the follow-up together make it likely."""
_SAME_SUBJECT: Final = 0.2
"""How much of the question before an entry for other people must cover."""
_OTHER_PEOPLE: Final = 0.9
"""What an entry for everybody counts of one for those whom a question names."""
_AGE: Final = frozenset(
    words("months month weeks week years year old age חודש חודשים שבוע שבועות שנה שנים גיל בן בת")
)


@dataclass(frozen=True)
class Covered:
    """The entry that covers a text best; `is_asked` says that it answers the text by itself, whatever was asked before."""

    entry_id: str
    question: str
    confidence: float
    """As of a candidate; 0 for an entry without other wordings."""
    is_asked: bool


def coverage_find(text: str, role: str, *, language: str, is_close: bool = False) -> Covered | None:
    """Return the published entry of a role's collection that a text is about, None if there is none.

    `is_close` asks for one that is surely what the text asks for. A lost index covers nothing.
    """
    try:
        found = _found(text, role, language)
    except IndexUnavailable:
        return None
    for candidate in found:
        if text_folded(text) == text_folded(candidate["CAUHOI"]):
            return Covered(candidate["id"], candidate["CAUHOI"], 1.0, is_asked=True)
    fitting = [one for one in covering(text, found, role, is_close=is_close) if is_about(text, one, role)]
    if not fitting:
        return None
    best = max(fitting, key=lambda one: fit(text, one, role))
    return Covered(best["id"], best["CAUHOI"], best["confidence"] or 0.0, is_asked=False)


def near_find(text: str, role: str, *, language: str, least: float = MAYBE) -> list[str]:
    """Return the published questions that a text may mean with this confidence, likeliest first; none with a lost index."""
    try:
        return near(text, _found(text, role, language), least)
    except IndexUnavailable:
        return []


def follow_up_find(
    text: str, whole: str, role: str, *, language: str, without: Sequence[str] = ()
) -> Covered | None:
    """Return the entry that answers what a short text adds to the question before it; `whole` is both.

    An entry that was shown already (`without`) is none, and neither is one that has nothing of what was added. "And for a baby?" is
    answered by the entry of the same topic that is for babies. Where none covers both, one about what was added will do that has the
    subject of the question before ("and with milk?" after antibiotics) or its topic ("and with coffee?" after grapefruit).
    """
    heavy = _heavy(text)
    if not heavy:
        return None
    before = whole.removesuffix(text)
    try:
        found = _found(whole, role, language)
        added = [one for one in _found(text, role, language) if _has_subject_of(before, one, role)]
        topics = {entry["DEMUC"] for entry in get_full_qa_by_ids(without, role, language=language)}
        # "What about children?" alone is about no subject.
        asked_in_topic = before if scope_of(text) else text
        near = [
            one
            for topic in topics
            for one in retrieve_by_words(asked_in_topic, role, _LOOKED_AT, language=language, demuc=topic)
        ]
    except IndexUnavailable:
        return None
    if scope_of(text):
        for_them = [
            one
            for one in near
            if one["id"] not in without
            and one["relevance"] >= _SAME_SUBJECT
            and names_the_same(text, one["CAUHOI"])
        ]
        if for_them:
            best = max(for_them, key=lambda one: one["relevance"])
            return Covered(best["id"], best["CAUHOI"], best["confidence"] or 0.0, is_asked=True)
        near = []
    for candidates, asked, least in ((found, whole, MAYBE), (added, text, TOGETHER), (near, text, NEAR)):
        fitting = [
            one
            for one in candidates
            if one["id"] not in without
            and ((_may_be(one) and one["relevance"] >= COVERS) or (one["confidence"] or 0.0) >= least)
            and not is_out_of_scope(whole, one["CAUHOI"])
            and (
                (asked is text and (one["confidence"] or 0.0) >= SURE)
                or _covered_by(" ".join(heavy), one, role, of_question=False)
                >= (COVERS if one["confidence"] is None else _ADDED)
            )
        ]
        if fitting:
            best = max(fitting, key=lambda one: fit(asked, one, role))
            return Covered(best["id"], best["CAUHOI"], best["confidence"] or 0.0, is_asked=asked is text)
    return None


def _has_subject_of(before: str, candidate: Candidate, role: str) -> bool:
    """Return whether an entry is about the people, the kind of medicine or the words that the question before is about."""
    question = candidate["CAUHOI"]
    shared = scope_of(before) & scope_of(question)
    return bool(shared) or _covered_by(before, candidate, role, of_question=False) >= _SAME_SUBJECT


def shown_holds(text: str, entry_ids: Sequence[str], role: str, *, language: str) -> str:
    """Return the question of the entry shown before that has what a short text adds, "" if none has.

    Its answer has the words ("and for a baby?"), one of its wordings is nearly the text, or it says how long where that is asked; where
    it comes from is said with each answer.
    """
    added = " ".join(word for word in _heavy(text) if word not in _AGE and not word.isdigit())
    try:
        entries = get_full_qa_by_ids(entry_ids, role, language=language)
        held = [(coverage(added, entry, role), entry["CAUHOI"]) for entry in entries] if added else []
        worded = [one for one in _found(text, role, language) if (one["confidence"] or 0.0) >= SURE]
    except IndexUnavailable:
        return ""
    best, question = max(held, default=(0.0, ""))
    if best >= COVERS:
        return question
    if again := next((one["CAUHOI"] for one in worded if one["id"] in entry_ids), ""):
        return again
    folded = text_folded(text)
    for entry in entries:
        if _SOURCE.search(folded) or (_HOW_LONG.search(folded) and _TIME.search(entry["CAUTRALOI"])):
            return entry["CAUHOI"]
    return ""


def _found(text: str, role: str, language: str) -> list[Candidate]:
    """Return the best entries by words, looked up once in a turn. Raises IndexUnavailable."""

    def read(texts: set[str]) -> dict[str, list[Candidate]]:
        return {one: retrieve_by_words(one, role, _LOOKED_AT, language=language) for one in texts}

    return remembered(("knowledge", role, language), [text], read)[text]


def covering(
    query: str, candidates: Sequence[Candidate], role: str, *, is_close: bool = False
) -> list[Candidate]:
    """Return those that cover a question, for the same people; `is_close` asks for those that surely are what it asks for.

    Of entries with other wordings these are one or two that are sure enough together: two that are alike leave it open which one is
    meant, and both may be read. An entry also covers it with its own words, unless it is far behind the best match, which shares only
    common words with it, or its other wordings speak against it.
    """
    fitting = [one for one in candidates if not is_out_of_scope(query, one["CAUHOI"])]
    worded = sorted(fitting, key=lambda one: -(one["confidence"] or 0.0))
    chosen = [one["id"] for one in _sure_together(worded, is_close=is_close)]
    best = max((candidate["score"] for candidate in candidates), default=0.0)
    least = CLOSE if is_close else COVERS
    return [
        one
        for one in fitting
        if _has_enough(query, one, role)
        and (
            one["id"] in chosen
            or (_may_be(one) and one["score"] >= _FAR_BEHIND * best and one["relevance"] >= least)
        )
    ]


def _may_be(candidate: Candidate) -> bool:
    """Return whether an entry may be meant: it has no other wordings, or they do not speak against it."""
    return candidate["confidence"] is None or candidate["confidence"] >= _AGAINST


def _sure_together(ranked: Sequence[Candidate], *, is_close: bool) -> list[Candidate]:
    least, total = (SURE if is_close else ANSWERS), 0.0
    likely = [one for one in ranked[:_MOST_TOGETHER] if (one["confidence"] or 0.0) >= TOGETHER]
    for place, one in enumerate(likely, start=1):
        total += one["confidence"] or 0.0
        if total >= least:
            return [*ranked[:place]]
    return []


def _has_enough(query: str, candidate: Candidate, role: str) -> bool:
    """Return whether a question says enough; of one word that says something, most of the candidate's question is made."""
    heavy = _heavy(query)
    return len(heavy) > 1 or (bool(heavy) and _covered_by(query, candidate, role) >= _OF_ENTRY_BY_ONE_WORD)


def near(query: str, candidates: Sequence[Candidate], least: float = NEAR) -> list[str]:
    """Return the questions of candidates that may be meant, without being sure enough to answer with one of them."""
    return [
        one["CAUHOI"]
        for one in candidates
        if (one["confidence"] or 0.0) >= least and not is_out_of_scope(query, one["CAUHOI"])
    ]


def is_surely(query: str, candidate: Candidate) -> bool:
    """Return whether a candidate is surely what a question asks for."""
    is_it = text_folded(query) == text_folded(candidate["CAUHOI"])
    return is_it or (candidate["confidence"] or 0.0) >= SURE or candidate["relevance"] >= CLOSE


def is_about(text: str, candidate: Candidate, role: str) -> bool:
    """Return whether a text has enough of a candidate's question: one word in common of many is not what it is about."""
    return (candidate["confidence"] or 0.0) >= MAYBE or _covered_by(text, candidate, role) >= _OF_ENTRY


def _heavy(text: str) -> list[str]:
    return [word for word in text_folded(text).split() if not is_light(word)]


def fit(text: str, candidate: Candidate, role: str) -> float:
    """Return how well a candidate fits a question, 0 to 1: it covers the question for the same people, and asks for not much else."""
    scoped = 1.0 if names_the_same(text, candidate["CAUHOI"]) else _OTHER_PEOPLE
    asked = min(_covered_by(text, candidate, role) / _ASKED_FULLY, 1.0)
    by_words = candidate["relevance"] * (1 + asked) / 2 if _may_be(candidate) else 0.0
    return scoped * max(candidate["confidence"] or 0.0, by_words)


def _covered_by(text: str, candidate: Candidate, role: str, *, of_question: bool = True) -> float:
    """Return how much of an entry's question a text has, or the other way round."""
    vocabulary = collection_vocabulary(role)
    if of_question:
        return relevance(vocabulary.weights(candidate["CAUHOI"]), text)
    return relevance(vocabulary.weights(text), candidate["CAUHOI"])
