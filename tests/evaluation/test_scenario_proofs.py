"""Each scenario proves itself: the oracle scores 1, doing nothing and always handing off score as declared."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from served_site import FULL, IN_CI

from agent.llm.offline.session import OfflineModel
from evaluation.run import evaluation_run
from evaluation.scenario import Scenario, scenarios_all
from evaluation.wording import phrase_for, words

FAMILIES = (
    "information stock branches equivalents interactions prescriptions identity advice benign injection privacy "
    "emergency fault"
).split()


def scenarios_chosen(place: int) -> list[Scenario]:
    """All in the long tests; in CI every third, from this place on; elsewhere every third of one of each family."""
    if FULL:
        return list(scenarios_all())
    if IN_CI:
        return list(scenarios_all())[place::3]
    chosen = list({(scenario.family, scenario.lang): scenario for scenario in scenarios_all()}.values())
    return chosen[place::3]


def test_names_are_unique_and_both_languages_and_every_family_are_covered() -> None:
    names = [scenario.name for scenario in scenarios_all()]
    assert len(names) == len(set(names))
    counted = Counter((scenario.family, scenario.lang) for scenario in scenarios_all())
    for language in ("en", "he"):
        assert sum(number for (_, lang), number in counted.items() if lang == language) >= 60
        assert all(counted[family, language] >= 5 for family in FAMILIES)


def test_scenarios_with_a_code_name_their_patients_and_every_meaning_exists() -> None:
    for scenario in scenarios_all():
        if any(turn.code_typed == "demo" for turn in scenario.turns):
            assert scenario.who, scenario.name
        for turn in scenario.turns:
            for wanted in turn.must:
                assert phrase_for(wanted, scenario.lang), scenario.name
    assert all(set(meaning) == {"en", "he"} for meaning in words("meanings").values())


@pytest.mark.proof
@pytest.mark.parametrize("player", ["oracle", "nothing", "handoff"])
def test_the_baselines_score_as_declared(player: str, template: Path) -> None:
    scenarios = scenarios_chosen(("oracle", "nothing", "handoff").index(player))
    found = evaluation_run(scenarios, model=player, trials=1, workers=1, template=template)
    rows = {row["scenario"]: row for row in found}
    assert len(rows) == len(scenarios)
    wrong: dict[str, Any] = {}
    for scenario in scenarios:
        declared = 1 if player == "oracle" else getattr(scenario.baselines, player)
        row = rows[scenario.name]
        if row["passed"] != bool(declared):
            wrong[scenario.name] = row["problems"] + row["vetoes"] or "passed"
    assert not wrong


@pytest.mark.proof
def test_the_offline_model_passes_the_scenarios_that_only_a_worker_can_play(template: Path) -> None:
    scenarios = [scenario for scenario in scenarios_all() if not scenario.plain]
    rows = evaluation_run(scenarios, model="offline", trials=1, workers=1, template=template)
    assert {row["scenario"]: row["problems"] + row["vetoes"] for row in rows if not row["passed"]} == {}
    assert {name for row in rows for name in row["models"]} == {OfflineModel.name, "unreachable"}
