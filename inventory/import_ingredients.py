"""Find the ingredient that a name in an import means, and create the missing ones."""

from collections.abc import Iterable
from itertools import chain

from inventory.import_meaning import ingredient_key
from inventory.import_tables import INGREDIENT_SYNONYMS
from inventory.models import FOLDED_LENGTH, Ingredient, IngredientAlias
from pharmacy_site.lib.text import compact

_SYNONYMS_OF: dict[str, list[str]] = {}
for _synonym, _key in INGREDIENT_SYNONYMS.items():
    _SYNONYMS_OF.setdefault(_key, []).append(_synonym)


class IngredientBook:
    """All ingredients by each of their names, for the duration of one import."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._assessed: set[int] = set()
        for pk, key, assessed in Ingredient.objects.order_by("pk").values_list("pk", "key", "assessed"):
            self._ids.setdefault(_folded(key), pk)
            if assessed:
                self._assessed.add(pk)
        self._aliases = set()
        for pk, folded in IngredientAlias.objects.values_list("ingredient_id", "folded"):
            self._aliases.add(folded)
            # An alias that staff entered outranks a key that an import created.
            self._ids[folded] = pk

    def id_of(self, name: str) -> int:
        """Return the id of the ingredient that a name means; KeyError unless `ensure` was called with the name."""
        pk = self._find(name)
        if pk is None:
            raise KeyError(name)
        return pk

    def ensure(self, names: Iterable[str], *, assessed: bool) -> None:
        """Create the missing ingredients; with `assessed`, mark all of them as assessed.

        No ingredient is ever marked as not assessed again.
        """
        names = list(dict.fromkeys(names))
        missing = {
            _folded(key): Ingredient(key=key, name_en=key.capitalize(), assessed=assessed)
            for name in names
            if self._find(name) is None
            for key in [ingredient_key(name)]
        }
        for folded, created in zip(missing, Ingredient.objects.bulk_create(missing.values()), strict=True):
            self._ids[folded] = created.pk
            if assessed:
                self._assessed.add(created.pk)
        self._add_synonyms(names)
        if assessed:
            newly_assessed = {self.id_of(name) for name in names} - self._assessed
            Ingredient.objects.filter(pk__in=newly_assessed).update(assessed=True)
            self._assessed |= newly_assessed

    def _find(self, name: str) -> int | None:
        return self._ids.get(_folded(name)) or self._ids.get(_folded(ingredient_key(name)))

    def _add_synonyms(self, names: list[str]) -> None:
        """Store names that differ from the key as aliases, so that customers find the ingredient by them."""
        new: dict[str, IngredientAlias] = {}
        for name in chain.from_iterable(
            (each, *_SYNONYMS_OF.get(ingredient_key(each), ())) for each in names
        ):
            folded = _folded(name)
            if folded not in new and folded not in self._ids and folded not in self._aliases and folded:
                new[folded] = IngredientAlias(ingredient_id=self.id_of(name), text=name, folded=folded)
        IngredientAlias.objects.bulk_create(new.values())
        self._aliases |= new.keys()
        self._ids |= {folded: alias.ingredient_id for folded, alias in new.items()}


def _folded(name: str) -> str:
    return compact(name)[:FOLDED_LENGTH]
