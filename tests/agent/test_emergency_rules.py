"""Each rule recognises its own sentences and lets its near misses pass; both are written beside the rule."""

import pytest

from agent.safety.emergency import alarms
from agent.safety.emergency.after import RemarkRule, is_end, remark_in, remark_rules
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


@pytest.mark.parametrize("rule", remark_rules(), ids=lambda rule: rule.name)
def test_no_sentence_of_a_rule_but_the_button_texts_ends_a_crisis(rule: RemarkRule) -> None:
    for text in {*rule.applies_to, *rule.passes} - {"I'm safe now"}:
        assert not is_end(text, in_crisis=True, was_asked=True), text


@pytest.mark.parametrize(
    ("text", "in_crisis", "was_asked", "ends"),
    [
        ("It's over, all is well.", False, False, True),
        ("זה נגמר, הכול בסדר!", False, False, True),
        ("false alarm", False, False, True),
        ("false alarm?", False, False, False),
        ("it's over", True, False, False),
        ("I'm safe now", True, False, True),
        ("she says she's safe now", True, True, False),
        ("yes", False, True, True),
        ("yes", False, False, False),
        ("yes but he is still asleep", False, True, False),
        ("the ambulance came and he is fine", False, True, False),
        ("כן", True, True, True),
    ],
)
def test_only_whole_messages_end_an_emergency(
    text: str, in_crisis: bool, was_asked: bool, ends: bool
) -> None:
    assert is_end(text, in_crisis=in_crisis, was_asked=was_asked) is ends
