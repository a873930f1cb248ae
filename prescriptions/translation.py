"""Declare which fields of patients, prescriptions, reply templates and switches exist in each language."""

from modeltranslation.translator import TranslationOptions, register

from prescriptions.models import Patient, Prescription, ReplyTemplate, SiteSwitches


@register(Patient)
class PatientTranslation(TranslationOptions):
    fields = ("name",)


@register(Prescription)
class PrescriptionTranslation(TranslationOptions):
    fields = ("directions",)


@register(ReplyTemplate)
class ReplyTemplateTranslation(TranslationOptions):
    fields = ("title", "text")


@register(SiteSwitches)
class SiteSwitchesTranslation(TranslationOptions):
    fields = ("closed_text",)
