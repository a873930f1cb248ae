"""Label medications so that a customer can choose among several."""

import re
from collections.abc import Sequence
from typing import Final

from inventory.models import Medication

BRACKETS: Final = re.compile(r"\s*\([^()]*\)\s*$")
"""Matches the name in the other language at the end of a label."""


def suggestion_label(medication: Medication, *, detailed: bool) -> str:
    """Return "Ibuprofen (איבופרופן)", or in detail "Ibuprofen, tablet 200 mg (איבופרופן)"."""
    return _label(medication, _details(medication) if detailed else "")


def suggestion_labels(medications: Sequence[Medication]) -> list[str]:
    """Return distinct labels: names that repeat get form and strength, then the company, then pack and number."""
    labels = [suggestion_label(medication, detailed=False) for medication in medications]
    for details in (_details, _details_with_company, _details_with_pack):
        labels = [
            _label(medication, details(medication)) if labels.count(label) > 1 else label
            for medication, label in zip(medications, labels, strict=True)
        ]
    return labels


def label_forms(medication: Medication) -> list[str]:
    """Return every label that `suggestion_labels` may give the medication, with and without the Hebrew name."""
    texts = ["", _details(medication), _details_with_company(medication), _details_with_pack(medication)]
    labels = [_label(medication, text) for text in texts]
    return [*labels, *(BRACKETS.sub("", label) for label in labels)]


def different(medications: Sequence[Medication], most: int) -> list[Medication]:
    """Return the first `most` that differ in name, form or strength, or the first `most` if none of them differs."""
    first: dict[str, Medication] = {}
    for medication in medications:
        first.setdefault(suggestion_label(medication, detailed=True), medication)
    return list(first.values() if len(first) > 1 else medications)[:most]


def _label(medication: Medication, details: str) -> str:
    name_he = medication.name_he or ""
    label = f"{medication.name_en}, {details}" if details else medication.name_en
    return f"{label} ({name_he})" if name_he and name_he != medication.name_en else label


def _details(medication: Medication) -> str:
    release = "" if medication.release == Medication.Release.IMMEDIATE else f"{medication.release}-release"
    return " ".join(filter(None, (release, medication.form, medication.strength)))


def _details_with_company(medication: Medication) -> str:
    return ", ".join(filter(None, (_details(medication), medication.company)))


def _details_with_pack(medication: Medication) -> str:
    pack = f"{medication.pack_size} {medication.pack_unit}".strip() if medication.pack_size else ""
    number = f"no. {medication.external_id or medication.pk}"
    return ", ".join(filter(None, (_details_with_company(medication), pack, number)))
