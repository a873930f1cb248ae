"""Define the errors about medications and stock; each carries data, the caller chooses its code and sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from pharmacy_site.lib.errors import PharmacyError

if TYPE_CHECKING:
    from inventory.models import Ingredient, Medication, StockLevel


class MedicationNotFound(PharmacyError):
    """No medication has this name or id."""

    code: ClassVar[str] = "MEDICATION_NOT_FOUND"

    def __init__(self, query: object) -> None:
        super().__init__("no such medication")
        self.query = query


class MedicationAmbiguous(PharmacyError):
    """Several medications fit equally well: at most ten `candidates`; `more` is true when there are others."""

    code: ClassVar[str] = "MEDICATION_AMBIGUOUS"

    def __init__(self, query: str, candidates: Sequence[Medication], *, more: bool = False) -> None:
        super().__init__("several medications fit")
        self.query = query
        self.candidates = list(candidates)
        self.more = more


class NoInventory(PharmacyError):
    """The store has no stock level for this medication: it never carried it."""

    code: ClassVar[str] = "NO_INVENTORY"

    def __init__(self, medication: Medication, store_id: int) -> None:
        super().__init__("not carried by this store")
        self.medication = medication
        self.store_id = store_id


class NoEquivalents(PharmacyError):
    """No other product has the same ingredients (and form and strength, where these are required)."""

    code: ClassVar[str] = "NO_EQUIVALENTS"

    def __init__(self, medication: Medication) -> None:
        super().__init__("no equivalent product")
        self.medication = medication


class UnassessedIngredients(PharmacyError):
    """No interaction is listed, but some ingredients were never assessed, so "none" would be a guess."""

    code: ClassVar[str] = "UNASSESSED_INGREDIENTS"

    def __init__(self, unassessed: Sequence[tuple[Medication, Ingredient]]) -> None:
        super().__init__("some ingredients were never assessed")
        self.unassessed = list(unassessed)


class StockBelowZero(PharmacyError):
    """The change would make the number of packs negative."""

    code: ClassVar[str] = "STOCK_BELOW_ZERO"

    def __init__(self, quantity: int, delta: int) -> None:
        super().__init__("stock would fall below zero")
        self.quantity = quantity
        self.delta = delta


class StockChangedMeanwhile(PharmacyError):
    """Somebody else changed the level after it was read; `current` is the level now."""

    code: ClassVar[str] = "STOCK_CHANGED_MEANWHILE"

    def __init__(self, current: StockLevel) -> None:
        super().__init__("the stock level was changed meanwhile")
        self.current = current
