"""Declare which fields of patients and prescriptions exist in each language."""

from modeltranslation.translator import TranslationOptions, register

from prescriptions.models import Patient, Prescription


@register(Patient)
class PatientTranslation(TranslationOptions):
    fields = ("name",)


@register(Prescription)
class PrescriptionTranslation(TranslationOptions):
    fields = ("directions",)
