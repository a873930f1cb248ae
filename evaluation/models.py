"""Define the results of evaluations: one row per run of `manage.py evaluate`, one per conversation played."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Evaluation(models.Model):
    """One run of `manage.py evaluate`."""

    created_at = models.DateTimeField(_("when"), auto_now_add=True)
    model = models.CharField(_("model"), max_length=80)
    options = models.JSONField(_("options"), default=dict)
    totals = models.JSONField(_("figures"), default=dict)

    class Meta:
        verbose_name = _("evaluation")
        verbose_name_plural = _("evaluations")
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.pk} {self.model}"


class EvaluationTrial(models.Model):
    """One conversation of an evaluation, with the judge's findings."""

    evaluation = models.ForeignKey(
        Evaluation, models.CASCADE, related_name="trials", verbose_name=_("evaluation")
    )
    scenario = models.CharField(_("scenario"), max_length=120)
    family = models.CharField(_("family"), max_length=40)
    language = models.CharField(_("language"), max_length=2)
    trial = models.PositiveSmallIntegerField(_("trial"))
    score = models.PositiveSmallIntegerField(_("score"))
    problems = models.JSONField(_("problems"), default=list)
    vetoes = models.JSONField(_("vetoes"), default=list)
    turns = models.PositiveSmallIntegerField(_("turns"))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    cost = models.DecimalField(_("cost"), max_digits=12, decimal_places=6, default=0)
    latency_ms = models.PositiveIntegerField(_("slowest answers (p95), ms"), default=0)
    transcript = models.JSONField(_("transcript"), default=list)

    class Meta:
        verbose_name = _("trial")
        verbose_name_plural = _("trials")
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "scenario", "trial"], name="trial_once")]

    def __str__(self) -> str:
        return f"{self.scenario} {self.trial}"
