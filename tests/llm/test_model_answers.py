"""What good and careless models write, 360 and 380 answers, and what of it customers see.

The cases are by authors who had not seen the checks of then, when a model might still add words of its own. The good ones, and the
last 220 careless ones, are by authors who had read the rules of `agent/llm/prompts/`; "bad" lists what such a careless answer may
not say. Those named "ruled" are by authors who knew the present rules: facts and ready sentences only.
Facts are named by kind and subject; the scripted server finds their ids in the request. Outside of CI one in five of the
first 740 is played. `PLAYED` names a file that gets what was shown of each case, to be judged by reading; all are played then.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sampling import sampled
from scripted_model import ScriptedModel, calls_for_customer, chooses, forever
from talking import Talk

from agent.answers.composition import Composition
from agent.answers.connecting_sentences import CONNECTING
from agent.answers.sentences import SENTENCES
from agent.llm import chosen

OWN = "10000101"
FOLDER = Path(__file__).parent / "answers"
SIZES = {"good": 360, "careless": 380, "ruled_good": 60, "ruled_careless": 94}
READY = {text for texts in (*CONNECTING.values(), SENTENCES["offer_person"]) for text in texts}
_NAMED = re.compile(r"\{[^{}]*\}|\[[a-z_, ]+\]")
_OWN_WORDS = re.compile(r"[^\W\d_]")
pytestmark = pytest.mark.proof


@dataclass
class Played:
    """One case, and what its answer became."""

    case: dict[str, Any]
    is_asked: bool = False
    """Whether the message reached the model with the functions that the case calls: not if advice is refused."""
    fallback: str = ""
    text: str = ""
    brief: str = ""
    """The text beside the cards, where it differs."""
    cards: list[dict[str, Any]] = field(default_factory=list)
    connecting: list[str] = field(default_factory=list)
    """The connecting sentences that were shown at last, by name."""
    own: list[str] = field(default_factory=list)
    """What was shown of the model's answer that is neither a fact nor a connecting sentence."""
    dropped: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    """Facts that the answer named and that are not in the text."""
    error: str = ""
    """What is wrong with the case itself: a fact that no menu has."""


def _cases(name: str) -> Sequence[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    assert len(cases) == SIZES[name]
    is_whole = name.startswith("ruled") or "PLAYED" in os.environ
    return cases if is_whole else sampled(cases, one_in=5)


def _play(model: ScriptedModel, case: dict[str, Any], composed: list[Composition]) -> Played:
    chosen.breaker.cache_clear()  # a case that is wrong itself shall not stop the ones after it
    talk = Talk(case["lang"], OWN if case["verified"] else None)
    for turn in (*case.get("before", ()), case):
        replies = [calls_for_customer(*turn["calls"])] if turn["calls"] else []
        replies += [chooses(said) for said in (turn["answer"], turn.get("second")) if said]
        model.reset()
        composed.clear()
        model.script(*replies[:-1], forever(replies[-1]))
        talk.say(turn["message"])
    model.forget()
    offered = model.requests[0].tools_offered if model.requests else []
    is_asked = bool(offered) and {name for name, _ in case["calls"]} <= {*offered}
    played = Played(case, is_asked, talk.run.fallback, talk.payload["text"])
    try:
        model.verify()
    except AssertionError as error:
        played.error = str(error)
        model.reset()
    played.brief = talk.payload.get("brief") or ""
    played.cards = talk.payload.get("cards") or []
    if composed:
        played.connecting = [] if played.fallback else composed[-1].connecting
        pieces = [] if played.fallback else composed[-1].answer.pieces
        texts = [piece for piece in pieces if isinstance(piece, str) and piece.strip()]
        played.own = [text for text in texts if text not in READY]
        played.dropped = [one.text for one in composed[0].dropped]
        played.unnamed = [one.id for one in composed[-1].chosen if one.text not in played.text]
    return played


def _played(model: ScriptedModel, name: str, composed: list[Composition]) -> list[Played]:
    """Play the cases of a set, each of which has to be playable, and write what was shown if `PLAYED` names a file."""
    played = [_play(model, case, composed) for case in _cases(name)]
    if path := os.environ.get("PLAYED"):
        with Path(f"{path}.{name}.jsonl").open("w", encoding="utf-8") as file:
            for one in played:
                file.write(json.dumps(one.__dict__, ensure_ascii=False) + "\n")
    assert not [(one.case["id"], one.error) for one in played if one.error]
    return played


def _reached(played: list[Played]) -> Iterator[Played]:
    """The cases that the model answered: no alarm, no refusal of advice, no fixed steps took the turn."""
    yield from (one for one in played if one.is_asked)


def test_good_answers_keep_their_facts(tireless: ScriptedModel, composed: list[Composition]) -> None:
    played = _played(tireless, "good", composed)
    reached = list(_reached(played))
    assert len(reached) >= 0.97 * len(played)
    assert not [one.case["answer"] for one in reached if one.unnamed]
    # Most of these were written when a model might still add words of its own.
    ready = [one for one in reached if not _OWN_WORDS.search(_NAMED.sub("", one.case["answer"]))]
    assert len(ready) >= 0.55 * len(played)
    assert not [one.case["answer"] for one in ready if one.dropped or one.fallback]


def test_of_careless_answers_only_sentences_of_ours_are_left(
    tireless: ScriptedModel, composed: list[Composition]
) -> None:
    played = _played(tireless, "careless", composed)
    reached = list(_reached(played))
    assert len(reached) >= 0.95 * len(played)
    assert not [one.case["answer"] for one in reached if one.own]
    # Each of them says something that may not be said, beside what may.
    assert not [one.case["answer"] for one in reached if not one.dropped and not one.fallback]


def test_good_answers_by_the_present_rules_lose_nothing(
    tireless: ScriptedModel, composed: list[Composition]
) -> None:
    played = _played(tireless, "ruled_good", composed)
    reached = list(_reached(played))
    assert len(reached) == len(played)
    assert not [one.case["answer"] for one in reached if one.unnamed or one.dropped or one.fallback]


def test_careless_answers_by_the_present_rules_show_no_words_of_their_own(
    tireless: ScriptedModel, composed: list[Composition]
) -> None:
    played = _played(tireless, "ruled_careless", composed)
    reached = list(_reached(played))
    assert len(reached) == len(played) and not [one.case["answer"] for one in reached if one.own]
