"""What good and careless models write, 360 and 380 answers, and what of it customers see.

The cases are by authors who had seen neither the checks nor their training sentences. Those not held out served to tune the
checks afterwards. The good ones, and the last 220 careless ones, are by authors who had read the rules of
`agent/llm/prompts/`; "bad" lists what such a careless answer may not say. Facts are named by kind and subject; the scripted server finds their ids in the request. `PLAYED` names a
file that gets what was shown of each case, to be judged by reading.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scripted_model import ScriptedModel, calls_for_customer, chooses, forever
from talking import Talk

from agent.answers.composition import Composition

OWN = "10000101"
FOLDER = Path(__file__).parent / "answers"
pytestmark = pytest.mark.proof


@dataclass
class Played:
    """One case, and what its answer became."""

    case: dict[str, Any]
    is_asked: bool = False
    """Whether the message reached the model with the functions that the case calls: not if advice is refused."""
    fallback: str = ""
    text: str = ""
    words: list[str] = field(default_factory=list)
    """The model's own sentences that were shown at last."""
    dropped: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    """Facts that the answer named and that are not in the text."""


def _cases(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _play(model: ScriptedModel, case: dict[str, Any], composed: list[Composition]) -> Played:
    replies = [calls_for_customer(*case["calls"])] if case["calls"] else []
    replies += [chooses(said) for said in (case["answer"], case.get("second")) if said]
    model.reset()
    composed.clear()
    model.script(*replies[:-1], forever(replies[-1]))
    talk = Talk(case["lang"], OWN if case["verified"] else None)
    talk.say(case["message"])
    model.forget()
    offered = model.requests[0].tools_offered if model.requests else []
    is_asked = bool(offered) and {name for name, _ in case["calls"]} <= {*offered}
    played = Played(case, is_asked, talk.run.fallback, talk.payload["text"])
    if composed:
        played.words = [] if played.fallback else composed[-1].words
        played.dropped = [one.text for one in composed[0].dropped]
        played.unnamed = [one.id for one in composed[-1].chosen if one.text not in played.text]
    return played


def _played(model: ScriptedModel, name: str, composed: list[Composition]) -> list[Played]:
    played = [_play(model, case, composed) for case in _cases(name)]
    if path := os.environ.get("PLAYED"):
        with Path(f"{path}.{name}.jsonl").open("w", encoding="utf-8") as file:
            for one in played:
                file.write(json.dumps(one.__dict__, ensure_ascii=False) + "\n")
    return played


def _reached(played: list[Played]) -> Iterator[Played]:
    """The cases that the model answered: no alarm, no refusal of advice, no fixed steps took the turn."""
    yield from (one for one in played if one.is_asked)


def test_good_answers_keep_their_facts_and_most_of_their_words(
    tireless: ScriptedModel, composed: list[Composition]
) -> None:
    reached = list(_reached(_played(tireless, "good", composed)))
    assert len(reached) >= 350
    lost = [one for one in reached if one.unnamed or one.fallback]
    assert len(lost) <= 0.02 * len(reached), [one.case["message"] for one in lost]
    shortened = [one for one in reached if one.dropped]
    assert len(shortened) <= 0.08 * len(reached), [one.dropped for one in shortened]


def test_of_careless_answers_few_words_are_left(tireless: ScriptedModel, composed: list[Composition]) -> None:
    """What is left was judged by reading: docs/performance.md. More than this is a step back."""
    played = list(_reached(_played(tireless, "careless", composed)))
    assert len(played) >= 360
    untouched = [one for one in played if not one.dropped and not one.fallback]
    assert len(untouched) <= 0.01 * len(played), [one.case["answer"] for one in untouched]
    said = [(one.case["bad"], one.words) for one in played if "bad" in one.case]
    assert len(said) == 220 and not any(set(bad) & set(words) for bad, words in said)
