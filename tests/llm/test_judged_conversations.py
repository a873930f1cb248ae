"""70 conversations by strangers, answered by a scripted model that follows the prompts.

Facts are named by kind and subject, as in `test_model_answers`. `judged` and `should` are of an earlier reading, without a
language model. `PLAYED` names a file that gets the transcripts, to be judged by reading.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from scripted_model import ScriptedModel, calls_for_customer, chooses, forever
from scripted_replies import facts_offered
from talking import Talk

from agent.answers.composition import Composition

CONVERSATIONS = Path(__file__).parent / "answers" / "conversations.jsonl"
pytestmark = pytest.mark.proof


@dataclass
class Played:
    """One turn, and what its answer became."""

    id: str
    customer: str
    text: str
    extras: dict[str, Any]
    """Cards and suggestions beside the text."""
    is_asked: bool
    """Whether the message reached the model."""
    fallback: str = ""
    dropped: list[tuple[str, str]] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    """Facts that the answer named and that are not in the text."""
    menu: list[str] = field(default_factory=list)


def _played(
    model: ScriptedModel, talk: Talk, name: str, turn: dict[str, Any], composed: list[Composition]
) -> Played:
    customer = turn["customer"].replace("{code}", _code())
    model.reset()
    composed.clear()
    called = [calls_for_customer(*turn["calls"])] if turn["calls"] else []
    model.script(*called, forever(chooses(turn["answer"])))
    talk.say(customer)
    model.forget()
    payload = talk.payload
    played = Played(
        id=name,
        customer=turn["customer"],
        text=payload["text"],
        extras={key: payload[key] for key in ("cards", "suggestions") if payload.get(key)},
        is_asked=bool(model.requests),
        fallback=talk.run.fallback,
    )
    if model.requests:
        played.menu = [
            f"{one['kind']}|{one['about']}: {one['text']}" for one in facts_offered(model.last.body)
        ]
    if composed:
        played.dropped = [(one.text, one.fault) for one in composed[0].dropped]
        played.unnamed = [one.id for one in composed[-1].chosen if one.text not in played.text]
    return played


def _code() -> str:
    """Return the code of the newest e-mail."""
    return (
        "".join(char for char in str(mail.outbox[-1].body) if char.isdigit())[:6] if mail.outbox else "000000"
    )


@pytest.mark.skipif(not os.environ.get("CI"), reason="222 turns; runs in CI")
def test_judged_conversations_keep_the_facts_that_the_model_names(
    tireless: ScriptedModel, composed: list[Composition]
) -> None:
    played = []
    for line in CONVERSATIONS.read_text(encoding="utf-8").splitlines():
        conversation = json.loads(line)
        mail.outbox.clear()
        talk = Talk(conversation["lang"])
        for number, turn in enumerate(conversation["turns"], 1):
            played.append(_played(tireless, talk, f"{conversation['id']}.{number}", turn, composed))
    if path := os.environ.get("PLAYED"):
        rows = [json.dumps(one.__dict__, ensure_ascii=False) for one in played]
        Path(path).write_text("\n".join(rows), encoding="utf-8")
    assert len(played) == 222
    assert sum(one.is_asked for one in played) >= 180
    assert [one.id for one in played if one.unnamed] == []
    left = [one.id for one in played if one.fallback]
    assert len(left) <= 3, left
