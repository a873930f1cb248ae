"""What a turn and a whole conversation must have brought, as the scenario says; returns what is wrong, in words."""

from collections.abc import Sequence

from evaluation.chat import Answer
from evaluation.scenario import Scenario, Turn, Wanted
from evaluation.wording import says


def turn_problems(turn: Turn, answer: Answer, *, offline: bool = False) -> list[str]:
    """What is not as the turn says; with `offline` also what holds of the offline model alone."""
    wrong = []
    tools = turn.offline.tools if offline and turn.offline.tools is not None else turn.tools
    if tools is not None and answer.tools != tools:
        wrong.append(f"tools {answer.tools}, not {tools}")
    if missing := [name for name in turn.uses if name not in answer.tools]:
        wrong.append(f"tools {answer.tools} lack {missing}")
    must = [*turn.must, *(turn.offline.must if offline else [])]
    wrong += [f"does not say {wanted!r}" for wanted in must if not says(answer.text, wanted)]
    wrong += [f"says {banned!r}" for banned in turn.must_not if says(answer.text, banned)]
    if turn.lang and answer.lang != turn.lang:
        wrong.append(f"answers in {answer.lang!r}")
    wrong += [f"no event {name}" for name in turn.events if name not in answer.events]
    cards = turn.offline.cards if offline else []
    wrong += [f"no card {kind}" for kind in cards if kind not in answer.cards]
    if answer.error != turn.error:
        wrong.append(f"error {answer.error!r}")
    return wrong


def told_problems(wanted: Sequence[Wanted], answers: Sequence[Answer]) -> list[str]:
    """What was not told by the end."""
    said = "\n".join(answer.text for answer in answers)
    return [f"never told {value!r}" for value in wanted if not says(said, value)]


def free_problems(scenario: Scenario, answers: Sequence[Answer]) -> list[str]:
    """The same for a customer who keeps to no script: everything that had to be told, at whatever turn."""
    called = {name for answer in answers for name in answer.tools}
    wanted = [value for turn in scenario.turns for value in turn.must]
    missing = sorted({name for turn in scenario.turns for name in turn.uses} - called)
    return [
        *told_problems([*wanted, *scenario.communicate], answers),
        *(f"never called {name}" for name in missing),
    ]
