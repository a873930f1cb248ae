"""Each rule recognises its own sentences and lets its near misses pass; both are written beside the rule."""

import pytest

from agent.safety.emergency import alarms
from agent.safety.emergency.after import RemarkRule, remark_in, remark_rules
from agent.safety.emergency.rules import Rule, matched, rules_all


@pytest.mark.parametrize("rule", rules_all(), ids=lambda rule: rule.name)
def test_rule_recognises_its_sentences_in_any_case(rule: Rule) -> None:
    for text in rule.applies_to:
        longer = [] if rule.at_most_words else [f"Hello! {text}. Thanks"]
        for written in (text, text.upper(), *longer):
            assert rule in matched(written), written
        assert rule.kind in {alarm.kind for alarm in alarms(text)}, text


@pytest.mark.parametrize("rule", rules_all(), ids=lambda rule: rule.name)
def test_near_misses_of_a_rule_raise_no_alarm_of_its_kind(rule: Rule) -> None:
    for text in rule.passes:
        assert rule.kind not in {alarm.kind for alarm in alarms(text)}, text


@pytest.mark.parametrize("rule", remark_rules(), ids=lambda rule: rule.name)
def test_remarks_after_an_alarm_are_read_as_their_rules_say(rule: RemarkRule) -> None:
    for text in rule.applies_to:
        assert remark_in(text) == rule.answer, text
    for text in rule.passes:
        assert remark_in(text) != rule.answer, text


def test_near_misses_of_an_end_are_no_end_of_any_kind() -> None:
    ends = [rule for rule in remark_rules() if rule.answer in ("over", "ended")]
    assert len(ends) == 2
    for rule in ends:
        for text in rule.passes:
            assert remark_in(text) not in ("over", "ended"), text
