"""Write the prompt: the rules from `agent/llm/prompts/`, what is known of the conversation, the last messages.

Text of customers and of the database is sent as JSON, with personal values replaced by placeholders.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from agent.answers.composition import Dropped
from agent.answers.connecting_sentences import CONNECTING
from agent.answers.facts.fact import Fact, Menu
from agent.evidence import products_listed
from agent.inference.base import StepResult, Turn
from agent.llm import prompts
from agent.llm.offline.frames import Frame
from agent.safety.privacy.placeholders import Placeholders

LONGEST_ANSWER: Final = 700  # characters; of a longer earlier answer only the subject is sent
LONGEST_RESULT: Final = 12_000  # characters of one result's JSON
_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_LANGUAGES: Final = {"en": "English", "he": "Hebrew"}

_IDENTIFIED_NOW: Final = "(The customer has just been identified. Go on with what they asked.)"

Message = dict[str, Any]


@dataclass(frozen=True)
class Hints:
    """What helps the model to choose its calls: our own reading of the message, and the catalogue's categories."""

    reading: Sequence[Mapping[str, Any]]
    categories: Sequence[str]


@cache
def rules() -> str:
    """Return the prompt's files, in their order, with the names of the ready sentences."""
    folder = Path(prompts.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))
    return text.replace("{connecting}", " ".join(CONNECTING))


@cache
def version() -> str:
    """Return the version of the rules: the beginning of their hash."""
    return hashlib.sha256(rules().encode()).hexdigest()[:12]


def messages_of(
    turn: Turn,
    earlier: Sequence[Mapping[str, Any]],
    menu: Menu,
    hints: Hints,
    hidden: Placeholders,
    language: str,
) -> list[Message]:
    """Return the messages that open a turn: rules, what is known, the last messages, the customer's message."""
    messages: list[Message] = []
    for payload in earlier:
        is_user = payload["role"] == "user"
        if not is_user and payload["role"] != "assistant":
            continue
        text = str(payload["text"])
        if not is_user and len(text) > LONGEST_ANSWER:
            text = _summary(payload)
        messages.append({"role": "user" if is_user else "assistant", "content": hidden.hide(text)})
    is_identified_now = not turn.text or bool(turn.code.get("outcome"))
    text = _IDENTIFIED_NOW if is_identified_now else hidden.hide(turn.text)
    # Written last: our reading may have taken a name for a medicine, and what is personal in the messages is known by now.
    known = _known(turn, menu, hints, hidden, language)
    systems = [{"role": "system", "content": rules()}, {"role": "system", "content": known}]
    return [*systems, *messages, {"role": "user", "content": text}]


def reading_of(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    """Return what our own reading takes a message to ask, as hints for the model."""
    return [
        {
            "asks_about": frame.intent,
            "medicines": [one.get("en") or one.get("query") for one in frame.medicines],
            "place": (frame.place or {}).get("en"),
            "leaflet_sections": list(frame.sections),
        }
        for frame in frames
    ]


def _known(turn: Turn, menu: Menu, hints: Hints, hidden: Placeholders, language: str) -> str:
    state = turn.state
    known: dict[str, Any] = {
        "now": f"{turn.now:%A %Y-%m-%d %H:%M}",
        "answer_language": _LANGUAGES[language],
        "customer_identified": bool(turn.identifier),
        "medicines_talked_about": [_picked(one, "id", "en", "he") for one in state.get("focus", ())],
        "products_listed_last": [
            {"position": place, **_picked(one, "id", "en", "he", "strength")}
            for place, one in enumerate(state.get("shown", ()), 1)
        ],
        "place": (state.get("place") or {}).get("en"),
        "location_shared": turn.location is not None,
    }
    if turn.identifier:
        known |= {"user_identifier": turn.identifier, "patient_id": turn.patient_id}
    if turn.identity_elsewhere:
        known["prescriptions"] = "only in our own window; patient_matter shows the way"
    if menu.remembered:
        known["facts_of_earlier_turns"] = _menu(menu.remembered)
    remembered = {fact.id for fact in menu.remembered}
    known["facts"] = _menu(
        [fact for fact in menu.facts if fact.id not in remembered and not fact.is_required]
    )
    if menu.required:
        known["facts_that_are_shown_in_any_case"] = _menu(menu.required)
    if turn.refused:
        known["asks_for_advice"] = True
    else:
        known["categories"] = hints.categories
    if hints.reading and not turn.refused:
        known["word_rules_guess"] = hints.reading
    return json.dumps(hidden.hide_known(known), ensure_ascii=False)


def _menu(facts: Sequence[Fact]) -> list[dict[str, str]]:
    """Return facts as a model reads them."""
    return [
        {"id": fact.id, "kind": fact.kind, "about": fact.subject, "text": fact.text.translate(_ISOLATES)}
        for fact in facts
    ]


def _picked(one: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: one[key] for key in keys if key in one}


def _summary(payload: Mapping[str, Any]) -> str:
    """Return what a long answer was about, to be sent in place of its text."""
    looked = [
        {"function": call["name"], "arguments": call["arguments"], "ok": call["ok"]}
        for call in payload.get("tools", ())
    ]
    return json.dumps({"answer_began": str(payload["text"])[:200], "looked_up": looked}, ensure_ascii=False)


LIMIT_REACHED: Final = json.dumps({"ok": False, "code": "limit_reached", "facts": []})
"""The result of a call beyond those that a turn may make."""


def result_json(result: StepResult, facts: Sequence[Fact], hidden: Placeholders, language: str) -> str:
    """Return one result as JSON for the model: whether it succeeded, ids for further calls, and the menu of its facts."""
    shown: dict[str, Any] = {"ok": result.ok}
    if result.code:
        shown["code"] = result.code
    if result.code == "invalid":
        shown["errors"] = result.result.get("errors", [])
    if ids := _ids(result, language):
        shown["ids"] = ids
    menu = _menu(facts)
    shown["facts"] = menu
    text = json.dumps(hidden.hide_known(shown), ensure_ascii=False)
    while len(text) > LONGEST_RESULT and menu:
        del menu[-1 - len(menu) // 4 :]  # the least likely to be asked for come last
        text = json.dumps(hidden.hide_known(shown), ensure_ascii=False)
    return text


def _ids(result: StepResult, language: str) -> list[dict[str, object]]:
    """Return the numbers by which other functions take what this result found."""
    evidence = result.evidence
    one = evidence.get("medication")
    products = [*([one] if one else []), *products_listed(evidence), *evidence.get("equivalents", ())]
    candidates = [*evidence.get("candidates", ()), *evidence.get("near", ())]
    found: list[dict[str, object]] = [
        {"medication_id": facts["id"], "name": _label(facts, language)} for facts in [*products, *candidates]
    ]
    rows = result.result.get("prescriptions") or ()
    key = f"medication_name_{language}"
    return [*found, *({"prescription_id": row["presc_id"], "name": row[key]} for row in rows)]


def _label(facts: Mapping[str, Any], language: str) -> str:
    return str(facts[f"label_{language}"] or facts["label_en"])


_CORRECTIONS: Final = {
    "own_words": "is your own; name facts and ready sentences only",
    "unknown_fact": "names a fact that does not exist",
}


def correction(dropped: Sequence[Dropped], hidden: Placeholders, language: str) -> str:
    """Return the message to the model when nothing was left of its answer."""
    pieces = [{"text": hidden.hide(one.text), "why": _CORRECTIONS[one.fault]} for one in dropped]
    return (
        "Your answer was not shown: nothing in it answers the question by a fact. Write it again, in "
        f"{_LANGUAGES[language]}, with the ids of facts and the names of ready sentences only. "
        f"These pieces cannot be shown: {json.dumps(pieces, ensure_ascii=False)}"
    )


def as_json(value: Any) -> str:
    """Return JSON as models and people read it."""
    return json.dumps(value, ensure_ascii=False)
