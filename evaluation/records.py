"""Store an evaluation for the admin, in the installation's own database."""

from collections.abc import Mapping, Sequence

from django.db import DatabaseError, transaction

from evaluation.metrics import Summary, percentile
from evaluation.models import Evaluation, EvaluationTrial
from evaluation.outcome import TrialRow


def evaluation_record(rows: Sequence[TrialRow], totals: Summary, about: Mapping[str, object]) -> bool:
    """Store the run and its trials; return False if this database has no tables for them."""
    try:
        with transaction.atomic():
            evaluation = Evaluation.objects.create(
                model=str(about["model"]), options=dict(about), totals=dict(totals)
            )
            EvaluationTrial.objects.bulk_create(
                [
                    EvaluationTrial(
                        evaluation=evaluation,
                        scenario=row["scenario"],
                        family=row["family"],
                        language=row["language"],
                        trial=row["trial"],
                        score=int(row["passed"]),
                        problems=row["problems"],
                        vetoes=row["vetoes"],
                        turns=row["turns"],
                        tokens=row["tokens_in"] + row["tokens_out"],
                        cost=row["cost"],
                        latency_ms=round(percentile(row["seconds"], 0.95) * 1000),
                        transcript=row["transcript"],
                    )
                    for row in rows
                ],
                batch_size=100,
            )
    except DatabaseError:
        return False
    return True
