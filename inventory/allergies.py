"""Compare products with what somebody is allergic to: by active ingredient, by class, by related class."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from inventory.drug_classes import class_key, class_named, is_related
from inventory.models import Ingredient, MedicationIngredient
from pharmacy_site.lib.text import compact

Kind = Literal["ingredient", "class", "related"]
_ORDER: Final = ("ingredient", "class", "related")


@dataclass(frozen=True, slots=True)
class Allergen:
    """Ingredients (by id) and classes that somebody is allergic to; both empty for what no product is compared with."""

    ingredients: frozenset[int] = frozenset()
    classes: frozenset[str] = frozenset()

    @property
    def can_be_checked(self) -> bool:
        """Whether products can be compared with it."""
        return bool(self.ingredients or self.classes)


@dataclass(frozen=True, slots=True)
class AllergyMatch:
    """A product that somebody may be allergic to: the ingredient of it that matched, and by which of its classes."""

    medication_id: int
    allergen: Allergen
    kind: Kind
    ingredient: Ingredient
    drug_class: str = ""


@dataclass(frozen=True, slots=True)
class AllergyReport:
    """The result of a check: no match means that the data lists none, never that a product is safe.

    `unassessed` are products whose ingredients or classes, or those of an allergen, are not on file.
    """

    matches: list[AllergyMatch] = field(default_factory=list)
    unassessed: list[int] = field(default_factory=list)


def allergies_check(medication_ids: Sequence[int], allergens: Collection[Allergen]) -> AllergyReport:
    """Compare each product with each allergen that can be checked; each two make at most one match, the closest.

    Two queries, however many products there are.
    """
    checked = [allergen for allergen in dict.fromkeys(allergens) if allergen.can_be_checked]
    contents = contents_of(medication_ids)
    known = {one.pk: one for ingredients in contents.values() for one in ingredients}
    missing = {pk for allergen in checked for pk in allergen.ingredients} - known.keys()
    known |= Ingredient.objects.in_bulk(missing)
    report = AllergyReport()
    for medication_id, ingredients in contents.items():
        for allergen in checked:
            own = [known[pk] for pk in allergen.ingredients if pk in known]
            classes = {*allergen.classes, *(name for one in own for name in classes_of(one))}
            found = sorted(
                _matches(medication_id, ingredients, allergen, classes),
                key=lambda match: _ORDER.index(match.kind),
            )
            report.matches.extend(found[:1])
            is_listed = bool(found) and found[0].kind != "related"
            if not is_listed and (not ingredients or not all(map(classes_of, [*ingredients, *own]))):
                report.unassessed.append(medication_id)
    return AllergyReport(report.matches, list(dict.fromkeys(report.unassessed)))


def _matches(
    medication_id: int, ingredients: Sequence[Ingredient], allergen: Allergen, classes: Collection[str]
) -> Iterator[AllergyMatch]:
    for ingredient in ingredients:
        if ingredient.pk in allergen.ingredients:
            yield AllergyMatch(medication_id, allergen, "ingredient", ingredient)
        for name in classes_of(ingredient):
            if name in classes:
                yield AllergyMatch(medication_id, allergen, "class", ingredient, name)
            elif any(is_related(name, one) for one in classes):
                yield AllergyMatch(medication_id, allergen, "related", ingredient, name)


def classes_of(ingredient: Ingredient) -> list[str]:
    """Return the classes of an ingredient, each by its one name."""
    return [class_key(name) for name in ingredient.classes]


def contents_of(medication_ids: Sequence[int]) -> dict[int, list[Ingredient]]:
    """Return the ingredients of each product, in the order asked."""
    contents: dict[int, list[Ingredient]] = {pk: [] for pk in medication_ids}
    rows = MedicationIngredient.objects.filter(medication_id__in=contents).select_related("ingredient")
    for row in rows.order_by("medication_id", "position", "id"):
        contents[row.medication_id].append(row.ingredient)
    return contents


def allergen_of_class(text: str) -> Allergen:
    """Return a class as an allergen; one that neither we nor any ingredient on file knows cannot be checked."""
    key = class_key(text)
    if class_named(text):
        return Allergen(classes=frozenset({key}))
    on_file = {
        class_key(name) for names in Ingredient.objects.values_list("classes", flat=True) for name in names
    }
    return Allergen(classes=frozenset({key} & on_file))


def allergens_in_products(name: str, medication_ids: Sequence[int]) -> list[Ingredient]:
    """Return what a name of these products means as an allergen: their ingredient of that name, else all they share."""
    contents = list(contents_of(medication_ids).values())
    own = {one.pk: one for ingredients in contents for one in ingredients}
    aliases: dict[int, set[str]] = {pk: set() for pk in own}
    for pk, folded in Ingredient.objects.filter(pk__in=own).values_list("pk", "aliases__folded"):
        aliases[pk].add(folded or "")
    called = [
        one
        for one in own.values()
        if compact(name)
        in {compact(one.key), compact(one.name_en), compact(one.name_he or ""), *aliases[one.pk]}
    ]
    shared = [one for one in own.values() if all(one in ingredients for ingredients in contents)]
    return called or shared
