"""Declare which fields of the stores exist in each language."""

from modeltranslation.translator import TranslationOptions, register

from stores.models import Locality, OpeningException, SiteAnswer, Store


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


@register(SiteAnswer)
class SiteAnswerTranslation(TranslationOptions):
    """The answer's text; both languages must have one, since customers read either."""

    fields = ("text",)
    required_languages = ("en", "he")
