"""Lay text out: paragraphs, lists, sentences."""

from collections.abc import Sequence

from pharmacy_site.lib.vocabulary import SENTENCE_GAP


def paragraphs(*texts: str) -> str:
    """Join texts as paragraphs; empty ones are left out."""
    return "\n\n".join(text for text in texts if text)


def numbered(lines: Sequence[str]) -> str:
    """Number lines from 1, so that a customer can point at one."""
    return "\n".join(f"{place}. {line}" for place, line in enumerate(lines, 1))


def bullets(lines: Sequence[str]) -> str:
    """List lines whose order does not matter."""
    return "\n".join(f"• {line}" for line in lines)


def sentences(text: str) -> list[str]:
    """Split a text into sentences that join to the same text again."""
    parts, start = [], 0
    for match in SENTENCE_GAP.finditer(text):
        parts.append(text[start : match.end()])
        start = match.end()
    return [*parts, text[start:]] if start < len(text) else parts
