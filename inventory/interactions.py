"""Check products for interactions on file: pairs by ingredient, the worst level, and unassessed ingredients."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal

from inventory.models import Ingredient, Interaction, Medication, MedicationIngredient

Level = Literal["none", "caution", "avoid"]
Kind = Literal["listed", "same_ingredient"]

LEVEL_ORDER: Final[dict[str, int]] = {"none": 0, "caution": 1, "avoid": 2}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two products that interact or share an ingredient, and the ingredients concerned.

    `a` comes before `b` in the order of the check. For `same_ingredient`, `ingredients` are the shared ones; for
    `listed`, every ingredient of a listed pair at this level. `source_text` is for staff.
    """

    a: Medication
    b: Medication
    level: Literal["caution", "avoid"]
    kind: Kind
    ingredients: tuple[Ingredient, ...]
    source_text: str = ""


@dataclass(frozen=True, slots=True)
class InteractionReport:
    """The result of a check; `level` "none" means that the data lists nothing, never that it is safe.

    `unassessed` lists what "none" does not cover: an ingredient that nobody assessed, or (ingredient None) a product
    whose ingredients are not on file.
    """

    level: Level
    pairs: list[Pair] = field(default_factory=list)
    unassessed: list[tuple[Medication, Ingredient | None]] = field(default_factory=list)


def interactions_check(medications: Sequence[Medication]) -> InteractionReport:
    """Check every two of the given products, in their order; a product given twice counts once.

    Each two products make at most one pair, with its worst level. Two queries, however many products there are.
    """
    products = list({medication.pk: medication for medication in medications}.values())
    contents = _contents([medication.pk for medication in products])
    listed = _listed({ingredient.pk for ingredients in contents.values() for ingredient in ingredients})

    pairs = []
    for a, b in combinations(products, 2):
        pair = _pair(a, b, contents[a.pk], contents[b.pk], listed)
        if pair:
            pairs.append(pair)

    unassessed: list[tuple[Medication, Ingredient | None]] = []
    for medication in products:
        ingredients = contents[medication.pk]
        if not ingredients:
            unassessed.append((medication, None))
        unassessed += [(medication, ingredient) for ingredient in ingredients if not ingredient.assessed]

    level: Level = "none"
    for pair in pairs:
        if LEVEL_ORDER[pair.level] > LEVEL_ORDER[level]:
            level = pair.level
    return InteractionReport(level=level, pairs=pairs, unassessed=unassessed)


def _contents(medication_ids: list[int]) -> dict[int, list[Ingredient]]:
    """Return the ingredients of each medication, in the order of its label."""
    contents: dict[int, list[Ingredient]] = {pk: [] for pk in medication_ids}
    rows = (
        MedicationIngredient.objects.filter(medication_id__in=medication_ids)
        .select_related("ingredient")
        .order_by("medication_id", "position", "id")
    )
    for row in rows:
        contents[row.medication_id].append(row.ingredient)
    return contents


def _listed(ingredient_ids: set[int]) -> dict[tuple[int, int], Interaction]:
    """Return the interactions among these ingredients, by pair of ids (lower id first)."""
    rows = Interaction.objects.filter(ingredient_a_id__in=ingredient_ids, ingredient_b_id__in=ingredient_ids)
    return {(row.ingredient_a_id, row.ingredient_b_id): row for row in rows}


def _pair(
    a: Medication,
    b: Medication,
    of_a: list[Ingredient],
    of_b: list[Ingredient],
    listed: dict[tuple[int, int], Interaction],
) -> Pair | None:
    """Return how two products interact, or None; a listed "avoid" outranks a shared ingredient."""
    interactions: list[tuple[Interaction, Ingredient, Ingredient]] = []
    for one in of_a:
        for other in of_b:
            row = listed.get((min(one.pk, other.pk), max(one.pk, other.pk)))
            if row:
                interactions.append((row, one, other))
    worst = max((LEVEL_ORDER[row.level] for row, _, _ in interactions), default=0)
    ids_of_b = {other.pk for other in of_b}
    shared = tuple(one for one in of_a if one.pk in ids_of_b)
    if shared and worst < LEVEL_ORDER["avoid"]:
        return Pair(a=a, b=b, level="caution", kind="same_ingredient", ingredients=shared)
    if not interactions:
        return None
    at_worst = [entry for entry in interactions if LEVEL_ORDER[entry[0].level] == worst]
    involved = {ingredient.pk: ingredient for _, *pair in at_worst for ingredient in pair}
    texts = dict.fromkeys(row.source_text for row, _, _ in at_worst if row.source_text)
    return Pair(
        a=a,
        b=b,
        level="avoid" if worst == LEVEL_ORDER["avoid"] else "caution",
        kind="listed",
        ingredients=tuple(involved.values()),
        source_text="\n".join(texts),
    )
