"""A model's YAML: with and without a fence, checked against its schema, and never more than plain values."""

import pytest

from agent.knowledge.parsing import AnswerMalformed, parse_yaml_with_schema

GOOD = "type: retrieve_kb\ncount: 2\nnames:\n  - a\n  - b\nextra: x"
SCHEMA = {"type": str, "count": int, "names": list}


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```yaml\n{GOOD}\n```",
        f"Here you are:\n```yml\n{GOOD}\n```\nAnything else?",
        f"```\n{GOOD}\n```",
        f"```yaml\n{GOOD}",
    ],
)
def test_the_fields_of_the_schema_are_returned(text: str) -> None:
    assert parse_yaml_with_schema(text, ["type", "names"], ["count", "reason"], SCHEMA) == {
        "type": "retrieve_kb",
        "count": 2,
        "names": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no mapping"),
        ("just words", "no mapping"),
        ("- a\n- b", "no mapping"),
        ("type: [", "not YAML"),
        ("type: a\n type: b", "not YAML"),
        ("count: 2", "type: missing"),
        ("type:", "type: missing"),
        ("type: ''", "type: missing"),
        ("type: a\ncount: many", "count: another type"),
        ("type: a\ncount: true", "count: another type"),
        ("type: 3", "type: another type"),
        ("type: !!python/object/apply:os.system ['true']", "not YAML"),
        ("a: &a [x, x]\nb: &b [*a, *a]\ntype: *b", "not YAML"),
        ("type: " + "x" * 20_001, "too long"),
        ("type: " + "[" * 5_000, "not YAML"),
    ],
)
def test_what_breaks_the_schema_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(AnswerMalformed) as refused:
        parse_yaml_with_schema(text, ["type"], ["count"], {"type": str, "count": int})
    assert refused.value.reason == reason
