"""The tables of the inventory, one module per subject.

Columns called `folded` hold a name in the form in which names are compared (`pharmacy_site.lib.text`): with blanks
(`fold`) in the search index, without blanks (`compact`) in the alias tables.
"""

from inventory.models.catalogue import (
    Category,
    CategoryAlias,
    LeafletSection,
    Medication,
    MedicationAlias,
    MedicationIngredient,
)
from inventory.models.ingredients import Ingredient, IngredientAlias, Interaction
from inventory.models.lengths import FOLDED_LENGTH, NAME_LENGTH, WORD_LENGTH
from inventory.models.search_index import MedicationTerm, SearchTerm, SearchWord, WordDeletion
from inventory.models.stock import StockLevel, StockMove

__all__ = [
    "FOLDED_LENGTH",
    "NAME_LENGTH",
    "WORD_LENGTH",
    "Category",
    "CategoryAlias",
    "Ingredient",
    "IngredientAlias",
    "Interaction",
    "LeafletSection",
    "Medication",
    "MedicationAlias",
    "MedicationIngredient",
    "MedicationTerm",
    "SearchTerm",
    "SearchWord",
    "StockLevel",
    "StockMove",
    "WordDeletion",
]
