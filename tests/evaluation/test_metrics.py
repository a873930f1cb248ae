"""pass^k and the other figures of many trials."""

from trial_rows import row

from evaluation import report
from evaluation.metrics import pass_k, pass_k_mean, percentile, summary


def test_pass_k_is_the_share_of_draws_in_which_all_pass() -> None:
    assert pass_k([True] * 4, 4) == 1
    assert pass_k([True, True, True, False], 4) == 0
    assert pass_k([True, True, True, False], 1) == 0.75
    # Of the 15 pairs out of 6 trials, 4 passing trials give 6.
    assert pass_k([True] * 4 + [False] * 2, 2) == 6 / 15
    assert pass_k([True], 4) is None


def test_scenarios_have_equal_weight_whatever_their_number_of_trials() -> None:
    rows = [row("a", n, True) for n in range(8)] + [row("b", n, n == 0) for n in range(2)]
    assert pass_k_mean(rows, 1) == 0.75
    assert pass_k_mean(rows, 4) == 1  # only "a" was played four times
    assert pass_k_mean([], 1) is None


def test_a_percentile_is_the_smallest_value_that_covers_the_share() -> None:
    assert percentile([], 0.5) == 0
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(list(range(1, 101)), 0.95) == 95


def test_the_table_and_the_last_line_show_the_figures() -> None:
    rows = [row("a", n, True) for n in range(4)] + [
        row("b", n, n > 0, vetoes=[] if n else ["x"]) for n in range(4)
    ]
    figures = summary(rows)
    assert report.last_line(figures) == "pass^1=0.88 pass^4=0.50 scenarios=2"
    assert figures["all"]["vetoes_pass^1"] == 0.875
    assert figures["all"]["tokens_in"] == 80 and figures["all"]["p95_ms"] == 300
    lines = list(report.table(figures))
    assert len(lines) == 4 and lines[-1].split()[:4] == ["all", "0.88", "0.50", "0.88"]


def test_a_comparison_lists_only_what_changed() -> None:
    before = report.document([row("a", 1, True), row("b", 1, True)], model="offline")
    after = [row("a", 1, True), row("b", 1, False), row("c", 1, True)]
    told = list(report.comparison(before, after))
    assert "b: 1.00 -> 0.00" in told and "c: n/a -> 1.00" in told
    assert not any(line.startswith("a:") for line in told)
    assert not list(report.comparison(before, [row("a", 1, True), row("b", 1, True)]))
