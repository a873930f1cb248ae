"""RagAgent, which decides what comes next, and QueryCreatingForRetrievalAgent."""

from functools import cache
from typing import Any, Final

from agent.knowledge.coverage import covering
from agent.knowledge.flow import prompts
from agent.knowledge.flow.calls import APIOverload, ask_yaml, one_of, tried
from agent.knowledge.flow.running import Running
from agent.knowledge.flow.state import MOST_ATTEMPTS, Action, Shared, asked_query, fallback
from agent.knowledge.parsing import AnswerMalformed
from agent.safety.lexicon import Lexicon
from pharmacy_site.lib.text import clean

_TRIES: Final = 2
_SHORT: Final = 6  # words of a question that may be a follow-up
_MOST_OF_A_QUERY: Final = 300
_MOST_OF_A_REASON: Final = 300
_ACTIONS: Final = ("create_retrieval_query", "retrieve_kb", "compose_answer")
_CONFIDENCES: Final = ("high", "medium", "low")


def rag_agent(shared: Shared, running: Running) -> Shared:
    """Decide whether to make a better query, to retrieve, or to compose the answer."""
    if shared["retrieve_attempts"] >= MOST_ATTEMPTS:
        return _going_to("compose_answer", shared, "")
    if running.model is None:
        action, reason = _by_rule(shared)
        return _going_to(action, shared, reason)
    try:
        action, reason = tried(lambda: _asked(shared, running), running, tries=_TRIES)
    except APIOverload as error:
        return fallback(error.reason)
    # There is nothing to compose from, and the same query would find the same again.
    if action == "compose_answer" and shared["rag_state"] == "init":
        action = "retrieve_kb"
    elif action == "retrieve_kb" and shared["rag_state"] != "init":
        action = "compose_answer"
    return _going_to(action, shared, reason)


def _by_rule(shared: Shared) -> tuple[Action, str]:
    can_make = bool(last_question(shared)) and not shared.get("retrieval_query")
    if shared["rag_state"] == "init":
        if can_make and is_follow_up(shared):
            return "create_retrieval_query", "it leaves out what it is about"
        return "retrieve_kb", "a question of its own"
    if covering(asked_query(shared), shared.get("retrieved_candidates", []), shared["role"]) or not can_make:
        return "compose_answer", "nothing further can be searched for"
    return "create_retrieval_query", "nothing covers the question alone"


def is_follow_up(shared: Shared) -> bool:
    """Return whether a question is so short, and begins or refers back so, that it says nothing alone ("and for children?")."""
    sentence = _cues().read_whole(shared["query"])
    if not last_question(shared) or len(sentence.words) > _SHORT:
        return False
    return sentence.has("it") or any(start == 0 for start, _ in sentence.spans("follow"))


def query_by_rule(shared: Shared) -> str:
    """Return the question before, and the question."""
    return " ".join(filter(None, (last_question(shared), shared["query"])))


@cache
def _cues() -> Lexicon:
    return Lexicon.load("cues")


def _asked(shared: Shared, running: Running) -> tuple[Action, str]:
    def check(fields: dict[str, Any]) -> tuple[Action, str]:
        action: Action = one_of(_ACTIONS)(fields["next_action"])  # type: ignore[assignment]
        return action, str(fields.get("reason") or "")[:_MOST_OF_A_REASON]

    return ask_yaml(
        running,
        prompts.orchestrate(shared),
        {"next_action": str},
        check,
        optional={"reason": str},
        max_retry_time=0,
        tries=1,
    )


def _going_to(action: Action, shared: Shared, reason: str) -> Shared:
    if action == "compose_answer":
        return {"action": action, "rag_state": "composing"}
    update: Shared = {"action": action, "retrieve_attempts": shared["retrieve_attempts"] + 1}
    if action == "create_retrieval_query":
        update["rag_state"] = "create_retrieval_query_reason"
        update["create_retrieval_query_reason"] = reason
    return update


def create_query(shared: Shared, running: Running) -> Shared:
    """Make a query that stands alone: a follow-up question leaves out what the conversation is about."""
    if running.model is None:
        return _query(shared, query_by_rule(shared), "low", "the question before it, and the question")
    try:
        return ask_yaml(
            running,
            prompts.create_query(shared, running.language),
            {"retrieval_query": str},
            lambda fields: _made(shared, fields, running),
            optional={"confidence": str, "reason": str},
        )
    except APIOverload as error:
        return fallback(error.reason)


def _made(shared: Shared, fields: dict[str, Any], running: Running) -> Shared:
    query = running.hide(" ".join(clean(fields["retrieval_query"]).split()))[:_MOST_OF_A_QUERY]
    if not query:
        raise AnswerMalformed("retrieval_query: empty")
    confidence = one_of(_CONFIDENCES)(fields.get("confidence") or "medium")
    return _query(shared, query, confidence, str(fields.get("reason") or ""))


def _query(shared: Shared, query: str, confidence: str, reason: str) -> Shared:
    return {
        "action": "default",
        "original_query": shared["query"],
        "retrieval_query": query,
        "retrieval_query_confidence": confidence,  # type: ignore[typeddict-item]
        "retrieval_query_reason": reason[:_MOST_OF_A_REASON],
    }


def last_question(shared: Shared) -> str:
    """Return what the customer wrote last before the question, "" if nothing."""
    theirs = [
        message["content"]
        for message in shared["conversation_history"]
        if message["role"] == "user" and message["content"] != shared["query"]
    ]
    return theirs[-1] if theirs else ""
