"""Find products with the same active ingredients, and say whether form and strength are the same too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count

from inventory.errors import NoEquivalents
from inventory.models import Medication, MedicationIngredient
from inventory.stock import totals
from inventory.strengths import StrengthKey, strength_key, strength_parse

Contents = Mapping[int, StrengthKey | None]
"""Each ingredient's id with its strength; None where the strength on file cannot be compared."""


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Another product with the same ingredients; `quantity` counts the packs in all active stores."""

    medication: Medication
    same_strength: bool
    same_form: bool
    quantity: int


def equivalents_find(
    medication: Medication, *, require_same_strength: bool = True, require_same_form: bool = True
) -> list[Equivalent]:
    """Return the active products with the same ingredients (and strength and form), stocked ones first.

    The release type is part of the form: an extended-release tablet is another form. A strength that is not known as
    a number never counts as the same. NoEquivalents when nothing fits, or when the product's own ingredients are not
    on file. Five queries; none reads more than the products with the rarest of the ingredients.
    """
    own = _contents([medication.pk]).get(medication.pk)
    if not own:
        raise NoEquivalents(medication)
    sharing = MedicationIngredient.objects.filter(ingredient_id=_rarest(own))
    candidates = (
        Medication.objects.select_related("category")
        .filter(is_active=True, pk__in=sharing.values("medication_id"))
        .exclude(pk=medication.pk)
    )
    if require_same_form:
        candidates = candidates.filter(form=medication.form, release=medication.release)
    by_id = {candidate.pk: candidate for candidate in candidates}
    fitting: list[tuple[Medication, bool]] = []
    for pk, contents in _contents(by_id).items():
        same_strength = contents == own and None not in own.values()
        if contents.keys() == own.keys() and (same_strength or not require_same_strength):
            fitting.append((by_id[pk], same_strength))
    if not fitting:
        raise NoEquivalents(medication)
    quantities = totals([candidate.pk for candidate, _ in fitting])
    result = [
        Equivalent(
            medication=candidate,
            same_strength=same_strength,
            same_form=(candidate.form, candidate.release) == (medication.form, medication.release),
            quantity=quantities.get(candidate.pk, 0),
        )
        for candidate, same_strength in fitting
    ]
    return sorted(
        result,
        key=lambda entry: (entry.quantity == 0, entry.medication.name_en.casefold(), entry.medication.pk),
    )


def _contents(medication_ids: Iterable[int]) -> dict[int, Contents]:
    """Return the contents of each medication that has any on file."""
    contents: dict[int, dict[int, StrengthKey | None]] = {}
    for row in MedicationIngredient.objects.filter(medication_id__in=list(medication_ids)):
        known = (
            (row.amount, row.unit) if row.amount is not None and row.unit else strength_parse(row.strength)
        )
        contents.setdefault(row.medication_id, {})[row.ingredient_id] = (
            strength_key(*known) if known else None
        )
    return dict(contents)


def _rarest(contents: Contents) -> int:
    """Return the ingredient that the fewest products contain."""
    if len(contents) == 1:
        return next(iter(contents))
    counts = (
        MedicationIngredient.objects.filter(ingredient_id__in=list(contents))
        .values("ingredient_id")
        .annotate(uses=Count("id"))
        .order_by("uses", "ingredient_id")
    )
    return int(counts[0]["ingredient_id"])
