"""Parse a message: clauses, medicines, places, cues, numbers and identifiers.

Nothing is decided here. Names come from the catalogue's and the stores' indexes; cues from `lexicon/cues.yaml`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import phonenumbers
from django.conf import settings

from agent.llm.offline.reading.categories import categories_in, misspelt_category
from agent.llm.offline.reading.known_words import (
    common_words,
    cue_lexicon,
    explained_words,
    form_lexicon,
    form_names,
    lexicon_yaml,
)
from agent.llm.offline.reading.message import SHORTEST_NAME, Clause, Medicine, Message, Unknown, as_written
from agent.safety.privacy.public import Public
from agent.state import RememberedMedication
from inventory import catalog
from inventory.models import Medication
from pharmacy_site.lib.text import compact, hebrew_stems, words
from pharmacy_site.lib.vocabulary import EMAIL, HEBREW
from stores.places import PlaceMention, places_in
from stores.selectors import phones_of_stores

_ASKS_AGAIN: Final = (
    r"(?:,\s+(?:and\s+)?|\s+and\s+)(?=(?:do|does|is|are|can|could|how|what|whats|where|wheres|when|which|will)\s)"
    r"|\s+and\s+(?=(?:if|whether)\s)"
    r"|\s+(?=ו(?:איפה|מתי|כמה|האם|מה|אם\s(?:צריך|יש))\b)"
)
_CLAUSE: Final = re.compile(
    rf"{_ASKS_AGAIN}|(?<!\d)[.…]+(?=\s|$)|(?<=\d)[.…]+(?=\s|$)|[!?;\n]+|,\s+(?=(?:and|also|but|then|וגם|ואם|אבל)\b)"
)
_STRETCHED: Final = re.compile(rf"([{HEBREW}])\1{{2,}}")  # "דחוףףף"
_UNITS: Final = frozenset({"mg", "mcg", "g", "ml", "gr", "מג", "מקג", "גרמ", "מל", "מיליגרמ", "מיקרוגרמ"})
_PHONE_DIGITS: Final = range(9, 14)
LINE_SUFFIXES: Final = frozenset(
    {"pm", "forte", "xr", "xl", "sr", "er", "cr", "retard", "duo", "ultra", "junior", "cold", "flu", "sinus"}
)
RELEASES: Final = ("xr", "xl", "sr", "er", "cr", "retard")
SMALLEST_STRENGTH: Final = 5
LONGEST_UNKNOWN: Final = 4
SHORTEST_NEAR: Final = 5  # letters of a word that may be a misspelt name
MOST_NEAR: Final = 6
_SHORT_ASK: Final = 5  # words


def candidate(medication: Medication) -> RememberedMedication:
    """Return a product as the conversation remembers it."""
    english = str(medication.name_en or medication.name_he)
    generic = compact(medication.generic_name_en or "")
    return {"id": medication.pk, "en": english, "he": medication.name_he or english, "generic": generic}


def clauses_of(text: str) -> list[tuple[str, bool]]:
    """Return the clauses of a message, each with whether it ends as a question."""
    found, start = [], 0
    for mark in [*_CLAUSE.finditer(text), None]:
        part = text[start : mark.start()] if mark else text[start:]
        start = mark.end() if mark else start
        if words(part):
            found.append((part.strip(), bool(mark and "?" in mark.group())))
    return found


def contacts_in(text: str) -> list[str]:
    """Return the e-mail addresses and phone numbers in a text, as written."""
    emails = EMAIL.findall(text)
    rest = EMAIL.sub(" ", text)
    # "Possible" and not "valid": whether a number was ever given out is not for the asker to learn.
    phones = phonenumbers.PhoneNumberMatcher(
        rest, settings.PHONENUMBER_DEFAULT_REGION, leniency=phonenumbers.Leniency.POSSIBLE
    )
    written = [match.raw_string for match in phones]
    return emails + [
        raw for raw in written if raw[0] in "0+(" and sum(map(str.isdigit, raw)) in _PHONE_DIGITS
    ]


def _of_customers(contacts: Sequence[str]) -> list[str]:
    """Return the contacts that are no branch's phone: "is 03-555-0101 your number?" says nothing about who asks."""
    is_phone = any("@" not in contact for contact in contacts)
    ours = Public.of((), phones_of_stores() if is_phone else ())
    return [contact for contact in contacts if not list(ours.phones_in(contact))]


def recognise(text: str) -> Message:
    """Parse a message; reads only the indexes of names."""
    written = contacts_in(text)
    bare = _STRETCHED.sub(r"\1", text)
    for contact in written:
        bare = bare.replace(contact, " ")
    contacts = _of_customers(written)
    clauses = [Clause(part, words(part), asks) for part, asks in clauses_of(bare)]
    joined = " \n ".join(clause.text for clause in clauses)
    known = common_words()
    mentions = catalog.mentions_in(joined, ignore=known)
    places = places_in(joined)
    offset = 0
    for clause in clauses:
        size = len(clause.words)
        for mention in mentions:
            inside = offset <= mention.start and mention.end <= offset + size
            if inside and not _by_chance(clause.words[mention.start - offset : mention.end - offset]):
                options = tuple(candidate(medication) for medication in mention.medications)
                found = Medicine(
                    mention.start - offset,
                    mention.end - offset,
                    mention.text,
                    options,
                    mention.by,
                    needs_prescription=all(one.rx_required for one in mention.medications),
                )
                clause.medicines.append(found)
        taken = {n for medicine in clause.medicines for n in range(medicine.start, medicine.end)}
        for place in places:
            span = range(place.start - offset, place.end - offset)
            if offset <= place.start and place.end <= offset + size and not taken & set(span):
                clause.places.append(PlaceMention(place.place, span.start, span.stop, place.text))
        clause.medicines = [_extended(clause, medicine) for medicine in clause.medicines]
        _fill(clause)
        offset += size
    _take_near_names(clauses)
    return Message(text, tuple(clauses), tuple(contacts))


def _take_near_names(clauses: Sequence[Clause]) -> None:
    """Count unknown words that are a typo away from a name as names to ask back about."""
    found: list[tuple[Clause, int]] = []
    for clause in clauses:
        typos = {place for span in clause.cues.spans("common") for place in range(*span)}
        found += [
            (clause, place)
            for name in ([] if clause.categories else clause.unknown)
            for place in range(name.start, name.end)
            if place not in typos and len(clause.words[place]) >= SHORTEST_NEAR
        ]
    near = catalog.misspelt({clause.words[place] for clause, place in found[:MOST_NEAR]})
    for clause, place in found[:MOST_NEAR]:
        if clause.words[place] in near:
            text = as_written(clause.text, place, place + 1) or clause.words[place]
            clause.medicines.append(Medicine(place, place + 1, text, ()))
    for clause in {id(clause): clause for clause, place in found if clause.words[place] in near}.values():
        clause.medicines.sort(key=lambda medicine: medicine.start)
        _fill(clause)


def _by_chance(parts: Sequence[str]) -> bool:
    """Return whether little words only happen to spell a name: "as a syrup" is no ASA."""
    return len(parts) > 1 and all(len(part) < SHORTEST_NAME and part in common_words() for part in parts)


def release_of(name: str, *, extended: bool) -> RememberedMedication | None:
    """Return the product of the same name with extended release, or the plain one; None when there is not exactly one."""
    base = words(name)
    while len(base) > 1 and base[-1] in RELEASES:
        base = base[:-1]
    for suffix in RELEASES if extended else ("",):
        told = " ".join([*base, suffix]).strip()
        for mention in catalog.mentions_in(told):
            if mention.end - mention.start == len(told.split()) and len(mention.medications) == 1:
                return candidate(mention.medications[0])
    return None


def _kind_asked(clause: Clause, medicine: Medicine) -> Medicine:
    """Return a name with the kind beside it: "Advil for kids", "מטפורמין ארוך טווח"."""
    for variant in ("children", "extended"):
        near = clause.cues.spans(f"{variant}_kind")
        if not any(start == medicine.end or end == medicine.start for start, end in near):
            continue
        if variant == "extended" and len(medicine.candidates) == 1:
            other = release_of(str(medicine.candidates[0]["en"]), extended=True)
            if other:
                return replace(medicine, text=str(other["en"]), candidates=(other,))
        return replace(medicine, variant=variant)
    return medicine


def _extended(clause: Clause, medicine: Medicine) -> Medicine:
    """Return a name with a line's suffix ("Tylenol PM") as unknown: it is another product, so the customer is asked."""
    end = medicine.end
    while end < len(clause.words) and clause.words[end] in LINE_SUFFIXES:
        end += 1
    if end == medicine.end:
        return medicine
    return Medicine(medicine.start, end, " ".join(clause.words[medicine.start : end]), (), "")


def _fill(clause: Clause) -> None:
    """Fill in what the words of a clause say, once its names are known."""
    named: list[Medicine | PlaceMention] = [*clause.medicines, *clause.places]
    taken = {place for span in named for place in range(span.start, span.end)}
    clause.strengths, clause.numbers, clause.unknown = [], [], []
    # A name is opaque to the cues: "Losec" shall not be read as a misspelt "lose".
    shown = ["§" if place in taken else word for place, word in enumerate(clause.words)]
    clause.cues = cue_lexicon().sentence(shown, asks=clause.asks)
    forms = form_lexicon().sentence(shown, asks=False)
    clause.forms = [form for form in form_names() if forms.has(form)]
    form_places = {place for form in clause.forms for span in forms.spans(form) for place in range(*span)}
    measures: set[int] = set()
    for place, word in enumerate(shown):
        if re.fullmatch(r"\d+(?:\.\d+)?", word):
            if place + 1 < len(shown) and shown[place + 1] in _UNITS:
                clause.strengths.append(f"{word} {shown[place + 1]}")
                measures |= {place, place + 1}
            elif "." not in word and place and shown[place - 1] == "§" and int(word) >= SMALLEST_STRENGTH:
                clause.strengths.append(f"{word} mg")  # "ibuprofen 400"
                measures.add(place)
            elif "." not in word and len(word) <= 3:
                clause.numbers.append(int(word))
    clause.form_words = len((form_places | measures) - taken)
    clause.form_text = " ".join(clause.words[place] for place in sorted(form_places - taken))
    cued = {
        place
        for name in lexicon_yaml("cues")
        for span in clause.cues.spans(name)
        for place in range(*span)
        if span[1] - span[0] <= 5
    }
    # "Do you have zinc?" asks for whatever it names.
    asks_for_it = len(clause.words) <= _SHORT_ASK and clause.has("stock", "list", "price")
    known = explained_words(in_sentence=not asks_for_it)
    run: list[int] = []
    for place, word in enumerate([*shown, ""]):
        readings = (word, *hebrew_stems(word))
        explained = (
            not word
            or place in measures | form_places
            or word == "§"
            or not known.isdisjoint(readings)
            or word[0].isdigit()
            or len(word) < SHORTEST_NAME
            or (place in cued and not _only_between(clause, shown, place))
        )
        if not explained:
            run.append(place)
        elif run:
            text = " ".join(clause.words[p] for p in run[:LONGEST_UNKNOWN])
            clause.unknown.append(
                Unknown(run[0], run[-1] + 1, as_written(clause.text, run[0], run[-1] + 1) or text)
            )
            run = []
    clause.categories = categories_in(clause) if not clause.medicines else []
    if clause.unknown and not clause.categories and not named and clause.has("stock", "list"):
        clause.categories = misspelt_category(clause) or [
            name.text
            for name in clause.unknown
            if clause.words[name.start - 1 : name.start] in (["נגד"], ["against"])
        ]
    clause.medicines = [_kind_asked(clause, medicine) for medicine in clause.medicines]


def _only_between(clause: Clause, shown: Sequence[str], place: int) -> bool:
    """Return whether a word is only in the gap of cues ("any … left"), so that it may be a name."""
    masked = cue_lexicon().sentence(["§" if n == place else word for n, word in enumerate(shown)], asks=False)
    return all(
        span in masked.spans(name)
        for name in lexicon_yaml("cues")
        for span in clause.cues.spans(name)
        if place in range(*span)
    )
