"""Declare which fields of the stores exist in each language."""

from modeltranslation.translator import TranslationOptions, register

from stores.models import Locality, OpeningException, Store


@register(Locality)
class LocalityTranslation(TranslationOptions):
    """A locality's name."""

    fields = ("name",)


@register(Store)
class StoreTranslation(TranslationOptions):
    """A store's name and address."""

    fields = ("name", "address")


@register(OpeningException)
class OpeningExceptionTranslation(TranslationOptions):
    """Why a day has other hours."""

    fields = ("note",)
