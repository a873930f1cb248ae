"""Define the search index: names and words derived from the catalogue.

`inventory.index` writes these tables and can rebuild them at any time; `inventory.search` reads them. Nobody edits them.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from inventory.models.catalogue import Medication
from inventory.models.lengths import FOLDED_LENGTH, WORD_LENGTH


class SearchTerm(models.Model):
    """One distinct name, folded; exact names are looked up in `compact`, parts of names in `folded`."""

    folded = models.CharField(max_length=FOLDED_LENGTH, unique=True)
    compact = models.CharField(max_length=FOLDED_LENGTH)

    class Meta:
        verbose_name = _("search term")
        verbose_name_plural = _("search terms")
        # Not db_index: on PostgreSQL that adds a second index, for prefixes, which nothing reads.
        indexes = [models.Index(fields=["compact"], name="search_term_compact")]

    def __str__(self) -> str:
        return self.folded


class MedicationTerm(models.Model):
    """One name of a medication, and what kind of name it is (the strongest kind if several apply)."""

    class Kind(models.IntegerChoices):
        NAME = 0, _("name")
        ALIAS = 1, _("alias")
        INGREDIENT = 2, _("ingredient")
        BRAND = 3, _("first word of a name")

    medication = models.ForeignKey(Medication, on_delete=models.CASCADE, related_name="terms")
    term = models.ForeignKey(SearchTerm, on_delete=models.CASCADE, related_name="uses", db_index=False)
    kind = models.PositiveSmallIntegerField(choices=Kind.choices)

    class Meta:
        verbose_name = _("term of a medication")
        verbose_name_plural = _("terms of medications")
        constraints = [
            models.UniqueConstraint(fields=["term", "medication"], name="medication_term_once"),
        ]

    def __str__(self) -> str:
        return str(self.get_kind_display())


class SearchWord(models.Model):
    """One distinct word, or whole name without blanks, that a customer may have misspelt."""

    text = models.CharField(max_length=WORD_LENGTH)

    class Meta:
        verbose_name = _("search word")
        verbose_name_plural = _("search words")
        constraints = [models.UniqueConstraint(fields=["text"], name="search_word_once")]

    def __str__(self) -> str:
        return self.text


class WordDeletion(models.Model):
    """A word with one letter left out: two words that are one typo apart share such a variant.

    The largest table, read only from the variant to the word. It therefore has neither a constraint nor an index on
    the word.
    """

    word = models.ForeignKey(
        SearchWord, on_delete=models.DO_NOTHING, related_name="deletions", db_index=False, db_constraint=False
    )
    variant = models.CharField(max_length=WORD_LENGTH)

    class Meta:
        verbose_name = _("deletion of a word")
        verbose_name_plural = _("deletions of words")
        indexes = [models.Index(fields=["variant", "word"], name="word_deletion_variant")]

    def __str__(self) -> str:
        return self.variant
