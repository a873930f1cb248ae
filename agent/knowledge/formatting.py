"""Show entries and a conversation as text for a prompt. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

LAST_MESSAGES: Final = 6
"""How many messages the specification's IngestQuery takes."""


def format_kb_qa_list(qa_list: Iterable[Mapping[str, object]]) -> str:
    """Return entries, or candidates that have a question only, one after another with their ids."""
    return "\n\n".join(_entry(qa) for qa in qa_list)


def format_conversation_history(
    conversation_history: Sequence[Mapping[str, str]], last: int = LAST_MESSAGES
) -> str:
    """Return the last messages ({role, content}), a line each, so that no text can pass for another speaker's line."""
    return "\n".join(
        f"{message['role']}: {' '.join(message['content'].split())}"
        for message in conversation_history[-last:]
    )


_PARTS: Final = (
    ("Q", "CAUHOI"),
    ("A", "CAUTRALOI"),
    ("Explanation", "GIAITHICH"),
    ("Source", "source"),
)


def _entry(qa: Mapping[str, object]) -> str:
    lines = [f"[{qa['id']}]"]
    lines += [f"{name}: {qa[key]}" for name, key in _PARTS if qa.get(key)]
    return "\n".join(lines)
