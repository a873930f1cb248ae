"""The thresholds of a refill's reading at their borders, and how like a name a misspelt one is."""

import pytest

from prescriptions.refill.confidence import Verdict, likeness, match_verdict, reading_verdict


@pytest.mark.parametrize(
    ("confidence", "verdict"),
    [
        (1.0, "go_on"),
        (0.8501, "go_on"),
        (0.85, "ask"),
        (0.95 - 0.1, "ask"),
        (0.70, "ask"),
        (0.95 - 0.25, "ask"),
        (0.6999, "stop"),
        (0.0, "stop"),
    ],
)
def test_above_085_goes_on_from_070_asks_below_stops(confidence: float, verdict: str) -> None:
    assert reading_verdict(confidence) == Verdict(verdict)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [(1.0, "go_on"), (0.9501, "go_on"), (0.95, "ask"), (0.75, "ask"), (0.7499, "stop"), (0.0, "stop")],
)
def test_a_match_above_095_is_sure_from_075_is_offered_below_stops(found: float, verdict: str) -> None:
    assert match_verdict(found) == Verdict(verdict)


@pytest.mark.parametrize(
    ("written", "names", "verdict"),
    [
        ("Metformin", ["metformin"], "go_on"),
        ("GLUCOPHAGE", ["metformin", "glucophage"], "go_on"),
        ("מטפורמין", ["metformin", "מטפורמין"], "go_on"),
        ("למטפורמין", ["מטפורמין"], "go_on"),
        ("metfornin", ["metformin"], "ask"),
        ("metfromin", ["metformin"], "ask"),
        ("מטפורמן", ["מטפורמין"], "ask"),
        ("למטפורמן", ["מטפורמין"], "ask"),
        ("prednisone", ["prednisolone"], "ask"),
        ("zinc", ["zink"], "ask"),
        ("hydroxyzine", ["hydralazine"], "stop"),
        ("losec", ["lasix"], "stop"),
        ("zorbaflexin", ["metformin", "amoxicillin"], "stop"),
        ("", ["metformin"], "stop"),
        ("metformin", [], "stop"),
    ],
)
def test_how_like_a_name_decides(written: str, names: list[str], verdict: str) -> None:
    assert match_verdict(likeness(written, names)) == Verdict(verdict)
