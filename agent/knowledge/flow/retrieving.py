"""The nodes of the retrieval sub-graph: TopicClassifyAgent, RetrieveFromKB, FilterAgent."""

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from agent.knowledge.coverage import covering
from agent.knowledge.flow import prompts
from agent.knowledge.flow.calls import APIOverload, ask_yaml, tried
from agent.knowledge.flow.classify import classify_chu_de_con_with_llm, classify_demuc_with_llm
from agent.knowledge.flow.running import Running
from agent.knowledge.flow.state import KEPT_UNFILTERED, MOST_SELECTED, Shared, asked_query, fallback
from agent.knowledge.index import IndexUnavailable
from agent.knowledge.parsing import AnswerMalformed
from agent.knowledge.retrieval import Candidate, retrieve_both_ways, retrieve_from_qdrant
from agent.knowledge.topics import (
    format_demuc_list_for_prompt,
    get_chu_de_con_for_demuc,
    get_demuc_list_for_role,
    topic_by_retrieval,
)

_TRIES: Final = 3
_FULLY: Final = 0.8
"""From this relevance on, what a topic has is good enough not to look elsewhere."""
_MOST_LISTED: Final = 60  # labels in a prompt; a collection may have thousands of subtopics
_MOST_SHOWN: Final = 30  # candidates in a prompt


def topic_classify(shared: Shared, running: Running) -> Shared:
    """Find the topic (DEMUC), then the subtopic (CHU_DE_CON).

    A topic found before belongs to the query before: after a new query both are found anew, and only the topic, so that
    the new search is a wider one.
    """
    is_new_query = shared["rag_state"] == "create_retrieval_query_reason"
    known: Shared = {"demuc": "", "chu_de_con": ""}
    if not is_new_query:
        known = {"demuc": shared.get("demuc", ""), "chu_de_con": shared.get("chu_de_con", "")}
    if running.model is None:
        return _by_retrieval(shared, running, is_new_query=is_new_query)
    try:
        return tried(
            lambda: _by_model(shared, running, known, is_new_query=is_new_query),
            running,
            tries=_TRIES,
            wait=running.limits.topic_wait,
        )
    except APIOverload as error:
        return fallback(error.reason)
    except IndexUnavailable:
        return fallback("index")


def _by_retrieval(shared: Shared, running: Running, *, is_new_query: bool) -> Shared:
    try:
        topic = topic_by_retrieval(asked_query(shared), shared["role"], language=running.language)
    except IndexUnavailable:
        return fallback("index")
    return {
        "action": "default",
        "demuc": topic["demuc"],
        "chu_de_con": "" if is_new_query else topic["chu_de_con"],
        "classification_confidence": topic["confidence"],
    }


def _by_model(shared: Shared, running: Running, known: Shared, *, is_new_query: bool) -> Shared:
    """Ask for what is not known yet; `known` keeps the topic when only the subtopic has to be asked for again."""
    role, query = shared["role"], asked_query(shared)
    update: Shared = {"action": "default", "classification_confidence": "high"}
    if not known["demuc"]:
        listed = _listed(get_demuc_list_for_role(role), "DEMUC", shared, running)
        if len(listed) > 1:
            found = classify_demuc_with_llm(
                query, role, format_demuc_list_for_prompt(listed), running=running
            )
            known["demuc"] = found["demuc"]
            update["classification_confidence"] = found["confidence"]  # type: ignore[typeddict-item]
        else:
            known["demuc"] = "".join(listed)
    if known["demuc"] and not known["chu_de_con"] and not is_new_query:
        listed = _listed(
            get_chu_de_con_for_demuc(role, known["demuc"]), "CHU_DE_CON", shared, running, known["demuc"]
        )
        if listed:
            found = classify_chu_de_con_with_llm(
                query, role, format_demuc_list_for_prompt(listed), demuc=known["demuc"], running=running
            )
            known["chu_de_con"] = found["chu_de_con"]
    if not known["demuc"]:
        update["classification_confidence"] = "low"
    return {**update, "demuc": known["demuc"], "chu_de_con": known["chu_de_con"]}


def _listed(
    labels: list[str],
    column: Literal["DEMUC", "CHU_DE_CON"],
    shared: Shared,
    running: Running,
    demuc: str = "",
) -> list[str]:
    """Return the labels that a model chooses among: of too many, those of what the question finds."""
    if len(labels) <= _MOST_LISTED:
        return labels
    found = retrieve_from_qdrant(asked_query(shared), demuc, "", shared["role"], language=running.language)
    return list(dict.fromkeys(one[column] for one in found if one[column]))


def retrieve_from_kb(shared: Shared, running: Running) -> Shared:
    """Search in the topic, with the subtopic and without it.

    A topic that is not certain, or in which nothing covers the question, does not narrow the search: a wrong topic must not hide
    the answer.
    """
    query, role, demuc = asked_query(shared), shared["role"], shared["demuc"]
    is_certain = shared["classification_confidence"] == "high" and bool(demuc)
    try:
        found: list[Candidate] = []
        if is_certain:
            found = retrieve_both_ways(query, demuc, shared["chu_de_con"], role, language=running.language)
        if not any(candidate["relevance"] >= _FULLY for candidate in found):
            everywhere = retrieve_both_ways(query, "", "", role, language=running.language)
            ids = {candidate["id"] for candidate in everywhere}
            found = [*everywhere, *(candidate for candidate in found if candidate["id"] not in ids)]
    except IndexUnavailable:
        return fallback("index")
    return {"action": "default", "retrieved_candidates": found, "rag_state": "retrieved"}


def filter_agent(shared: Shared, running: Running) -> Shared:
    """Keep the candidates that may answer the question, ten at most; three or fewer are all kept."""
    candidates = shared["retrieved_candidates"]
    if len(candidates) <= KEPT_UNFILTERED:
        return _selected(candidates)
    if running.model is None:
        return _selected(covering(asked_query(shared), candidates, shared["role"]))
    handles = {f"c{number}": candidate for number, candidate in enumerate(candidates[:_MOST_SHOWN], start=1)}

    def check(fields: dict[str, Any]) -> Shared:
        value = fields["selected_ids"]
        named = re.findall(r"\w+", " ".join(map(str, value)) if isinstance(value, list) else value)
        chosen = [handles[name] for name in dict.fromkeys(named) if name in handles]
        # What was not retrieved cannot be selected; a list of nothing else is no answer.
        if named not in ([], ["none"]) and not chosen:
            raise AnswerMalformed("selected_ids: unknown")
        return _selected(chosen)

    prompt = prompts.filter_candidates(shared, {name: one["CAUHOI"] for name, one in handles.items()})
    try:
        return ask_yaml(running, prompt, {"selected_ids": (list, str)}, check)
    except APIOverload as error:
        return fallback(error.reason)


def _selected(candidates: Sequence[Candidate]) -> Shared:
    kept = candidates[:MOST_SELECTED]
    return {
        "action": "default",
        "selected_ids": [candidate["id"] for candidate in kept],
        "selected_questions": [candidate["CAUHOI"] for candidate in kept],
        "rag_state": "filtered",
    }
