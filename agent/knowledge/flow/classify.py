"""The specification's `classify_demuc_with_llm` and `classify_chu_de_con_with_llm`: which of the listed labels a question is about."""

from typing import Any, Final

from agent.knowledge.flow import prompts
from agent.knowledge.flow.calls import ask_yaml, one_of
from agent.knowledge.flow.running import Running
from agent.knowledge.parsing import AnswerMalformed

_NONE: Final = "none"
_CONFIDENCES: Final = ("high", "medium", "low")


def classify_demuc_with_llm(
    query: str, role: str, demuc_list_str: str, *, running: Running
) -> dict[str, str]:
    """Return {demuc, confidence, reason}; the topic is "" when none of the list fits. Raises APIOverload.

    The list is one of `format_demuc_list_for_prompt`.
    """
    return _classified("demuc", prompts.classify_demuc(query, role, demuc_list_str), demuc_list_str, running)


def classify_chu_de_con_with_llm(
    query: str, role: str, chu_de_con_list_str: str, *, demuc: str, running: Running
) -> dict[str, str]:
    """Return {chu_de_con, confidence, reason} for a subtopic of a topic, as above."""
    prompt = prompts.classify_chu_de_con(query, role, demuc, chu_de_con_list_str)
    return _classified("chu_de_con", prompt, chu_de_con_list_str, running)


def _classified(name: str, prompt: str, listed: str, running: Running) -> dict[str, str]:
    labels = [line.partition(". ")[2] for line in listed.splitlines()]

    def check(fields: dict[str, Any]) -> dict[str, str]:
        return {
            name: _label(fields[name], labels),
            "confidence": one_of(_CONFIDENCES)(fields["confidence"]),
            "reason": str(fields.get("reason") or ""),
        }

    return ask_yaml(
        running,
        prompt,
        {name: (str, int), "confidence": str},
        check,
        optional={"reason": str},
        max_retry_time=0,
        tries=1,
    )


def _label(value: object, labels: list[str]) -> str:
    """Return the label that a model named by its number or its text."""
    text = " ".join(str(value).split())
    if text.casefold() == _NONE:
        return ""
    if text.isdecimal() and 1 <= int(text) <= len(labels):
        return labels[int(text) - 1]
    for label in labels:
        if label.casefold() == text.casefold():
            return label
    raise AnswerMalformed("no such label")
