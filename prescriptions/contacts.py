"""Normalise typed e-mail addresses, phone and record numbers to the form in which they are stored and compared."""

import re
import unicodedata
from dataclasses import dataclass

import phonenumbers
from django.conf import settings

from pharmacy_site.lib.text import clean

# Never a stored contact. Looked up in place of the missing kind, so that the query is the same for e-mail and phone.
NO_EMAIL = "-"
NO_PHONE = "-"
NO_MRN = "-"
_LONGEST = 254
_MRN = re.compile(r"[0-9]{6,8}")
_NO_BREAK = "\N{WORD JOINER}"
"""Lines may be broken after an ellipsis."""


@dataclass(frozen=True)
class Contact:
    """A normalised contact; a malformed one matches nobody's e-mail or phone."""

    text: str
    email: str = NO_EMAIL
    phone: str = NO_PHONE
    mrn: str = NO_MRN


def contact_parse(identifier: str, *, takes_mrn: bool = False) -> Contact:
    """Return the contact that a customer typed: e-mail in lower case or phone in E.164, else only its text.

    With `takes_mrn`, six to eight plain digits are a medical record number and no phone: where something else proves who
    asks, a number that can be guessed may name the account.
    """
    text = unicodedata.normalize("NFKC", clean(identifier, _LONGEST)).strip().lower()[:_LONGEST]
    if "@" in text:
        return Contact(text=text, email=text)
    if takes_mrn and _MRN.fullmatch(text):
        return Contact(text=text, mrn=text)
    phone = phone_parse(text)
    return Contact(text=text) if phone is None else Contact(text=phone, phone=phone)


def email_masked(email: str) -> str:
    """Return an e-mail address as its owner recognises it and nobody else reads it: "d…@example.com"."""
    name, _, domain = email.partition("@")
    return f"{name[:1]}…{_NO_BREAK}@{domain}"


def phone_parse(text: str) -> str | None:
    """Return a phone number in E.164, or None for a text without the length of a number.

    A number of the right length counts even if no operator uses its range: ranges change, and a number on file must
    stay findable.
    """
    try:
        number = phonenumbers.parse(text, settings.PHONENUMBER_DEFAULT_REGION)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
