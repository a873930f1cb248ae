"""Check turns and whole conversations against the scenario; each function returns the problems as text."""

from collections.abc import Sequence

from evaluation.chat import Answer
from evaluation.scenario import Scenario, Turn, Wanted
from evaluation.wording import says


def turn_problems(turn: Turn, answer: Answer, *, offline: bool = False) -> list[str]:
    """Return where an answer differs from its turn; with `offline`, also check what is expected of the offline model only."""
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


def unsaid_problems(wanted: Sequence[Wanted], answers: Sequence[Answer]) -> list[str]:
    """Return what the assistant never said, though it had to by the end."""
    text = "\n".join(answer.text for answer in answers)
    return [f"never told {value!r}" for value in wanted if not says(text, value)]


def free_problems(scenario: Scenario, answers: Sequence[Answer]) -> list[str]:
    """Return the problems of a conversation without a script: what was never said or called, at whatever turn."""
    called = {name for answer in answers for name in answer.tools}
    wanted = [value for turn in scenario.turns for value in turn.must]
    missing = sorted({name for turn in scenario.turns for name in turn.uses} - called)
    return [
        *unsaid_problems([*wanted, *scenario.communicate], answers),
        *(f"never called {name}" for name in missing),
    ]
