"""Find the allergies that a customer mentions ("I'm allergic to penicillin"), and what else a message says."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from agent.llm.offline.reading.known_words import common_words
from agent.llm.offline.reading.message import Clause, Message, as_written
from agent.llm.offline.reading.recognise import recognise
from agent.state import RememberedAllergen
from inventory.allergies import Allergen, allergen_of_class, allergens_in_products
from inventory.drug_classes import class_labels, class_named, class_of_member
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.text import hebrew_stems, words

_LONGEST_CLASS: Final = 7  # words of a class's name
_LONGEST_TEXT: Final = 60
_DENIED: Final = frozenset(
    words("not no never without isnt arent wasnt dont doesnt people anyone about question לא ללא אנשים")
)
"""Inside "I am … allergic to" they make it a denial, or a question about others."""
_DOUBTED: Final = frozenset(words("dont doesnt not know whether check sure לדעת לבדוק בטוח בטוחה"))
_ASKING: Final = frozenset(words("is are am was do does did can could may might should האם"))
_JOINING: Final = frozenset(words("and or also both plus to ו או וגם גם"))
_PASSED: Final = frozenset(
    words("a an the some all other any type types kind kinds of active ingredient in ל כל")
)
_VAGUE: Final = frozenset(
    words(
        "it its that this these those them anything something nothing everything medicine medicines medication medications"
        " drugs what which you your me my משהו כלום זה תרופה תרופות שום"
    )
)
"""What names no allergen, nor begins a name of one."""
_ALLERGY: Final = frozenset(words("allergy allergies"))
_BEGINNINGS: Final = frozenset(
    words("hi hello also and but btw by the way fyi note very severely highly badly היי שלום וגם גם אגב")
)
_FILLING: Final = _BEGINNINGS | frozenset(
    words(
        "so just you know ok okay please thanks thank that since because as im i am should say mention is it fine רק שתדעו כי תודה"
    )
)
"""What is left of a message that only mentions an allergy."""
_MEDICAL: Final = frozenset(
    words("seasonal spring skin food drug severe mild bad serious strong known new hay of family")
)


class _Remark(NamedTuple):
    """The words of a clause in which an allergy is mentioned."""

    start: int
    end: int
    allergens: list[RememberedAllergen]


def allergies_apart(message: Message) -> tuple[list[RememberedAllergen], Message]:
    """Return the allergies that a message mentions, and the message without its words about them."""
    said: dict[tuple[str, ...], RememberedAllergen] = {}
    left: list[str] = []
    is_open = False  # whether a list of allergens may go on in the next clause
    for clause in message.clauses:
        remarks = list(_remarks(clause))
        if is_open and not remarks:
            named, end = _listed(clause, 0, len(clause.words), may_be_text=False)
            if named and end == len(clause.words):
                remarks = [_Remark(0, end, named)]
        is_open = bool(remarks) and remarks[-1].end == len(clause.words)
        for remark in remarks:
            said |= {(one["en"], one["he"]): one for one in remark.allergens}
        left.append(_without(clause, remarks))
    if not said:
        return [], message
    rest = recognise("\n".join(filter(None, left)))
    return list(said.values()), replace(rest, contacts=message.contacts)


def allergens_named(text: str) -> list[RememberedAllergen]:
    """Return the allergens of a list that has nothing else: "penicillin and peanuts"."""
    found: list[RememberedAllergen] = []
    for clause in recognise(text[:200]).clauses:
        found += _listed(clause, 0, len(clause.words), may_be_text=True)[0]
    return found


def _remarks(clause: Clause) -> Iterator[_Remark]:
    """Yield each mention of an allergy; none that is denied, asked, or about nobody in particular."""
    own = clause.words
    spans = clause.cues.spans("allergic") | {
        (start, end)
        for start, end in clause.cues.spans("allergic_to")
        if not clause.asks and _BEGINNINGS.issuperset(own[:start])
    }
    for start, end in sorted(spans):
        allergens, after = _listed(clause, end, len(own), may_be_text=True)
        if allergens and not _is_denied(own, start, end):
            # "I'm on warfarin and allergic to …": what is said before is no part of it.
            inside = [one.end for one in clause.medicines if start <= one.start < end]
            yield _Remark(max([start, *inside]), after, allergens)
    for start, end in sorted(clause.cues.spans("allergy_of")):
        if own[end : end + 1] == ["to"] or _is_denied(own, start, end):
            continue
        if allergens := _inside(clause, start, end):
            yield _Remark(start, end, allergens)
    if own[-1] in _ALLERGY and not clause.asks:
        allergens, after = _listed(clause, 0, len(own) - 1, may_be_text=False)
        if allergens and after == len(own) - 1:
            yield _Remark(0, len(own), allergens)


def _is_denied(own: Sequence[str], start: int, end: int) -> bool:
    first = own[start : start + 2]
    is_asked = bool(start) and own[start - 1] in _ASKING and first[0] != "im" and first != ["i", "am"]
    return (
        is_asked
        or not _DENIED.isdisjoint(own[start:end])
        or not _DOUBTED.isdisjoint(own[max(0, start - 3) : start])
    )


def _listed(
    clause: Clause, start: int, stop: int, *, may_be_text: bool
) -> tuple[list[RememberedAllergen], int]:
    """Return the allergens that are listed from a word on, and where the list ends."""
    found: list[RememberedAllergen] = []
    place = end = start
    raw = clause.text.split()
    raw = raw if len(raw) == len(clause.words) else clause.words
    is_next = True  # whether an allergen may stand here: at first, after "and" and after a comma
    while place < stop:
        word = clause.words[place]
        if word in _JOINING or word in _PASSED:
            is_next = is_next or word in _JOINING
            place += 1
            continue
        is_next = is_next or word.startswith("ו") or raw[place - 1].endswith(",")
        known, after = _known(clause, place, stop) if is_next else ([], place)
        if not known and may_be_text and is_next:
            known, after = _as_text(clause, place, is_first=not found)
        if not known:
            break
        found += known
        place = end = after
        is_next = False
    return found, end


def _inside(clause: Clause, start: int, end: int) -> list[RememberedAllergen]:
    """Return the allergen inside "have a penicillin allergy"."""
    for place in range(start, end):
        if known := _known(clause, place, end)[0]:
            return known
    for name in clause.unknown:
        own = clause.words[max(start, name.start) : min(end - 1, name.end)]
        is_a_need = clause.words[max(0, start - 1) : start] == ["for"]  # "something for my dust allergy"
        if own and not is_a_need and _MEDICAL.isdisjoint(own):
            return [_text(" ".join(own))]
    return []


def _known(clause: Clause, place: int, stop: int) -> tuple[list[RememberedAllergen], int]:
    """Return the class or the medicine that is named at a word, and where its name ends."""
    named = next((one for one in clause.medicines if one.start == place), None)
    for size in range(min(_LONGEST_CLASS, stop - place), 0, -1):
        if named and named.candidates and named.end - place > size:
            break
        for text in _readings(clause.words[place : place + size]):
            if key := class_named(text):
                english, hebrew = class_labels(key)
                return [_remembered(english, hebrew, allergen_of_class(key))], place + size
            if not (named and named.candidates) and (key := class_of_member(text)):
                return [_remembered(text, text, allergen_of_class(key))], place + size
    if named is None or not named.candidates:
        return [], place
    ids = [one["id"] for one in named.candidates if "id" in one]
    ingredients = next(
        (
            found
            for text in _readings(clause.words[place : named.end])
            if (found := allergens_in_products(text, ids))
        ),
        [],
    )
    allergen = Allergen(frozenset(one.pk for one in ingredients))
    if len(ingredients) == 1 and named.by == "ingredient":
        return [_remembered(*both(ingredients[0], "name"), allergen)], named.end
    first = named.candidates[0]
    labels = (first["en"], first["he"]) if len(ids) == 1 and named.by == "name" else (named.text, named.text)
    return [_remembered(*labels, allergen)], named.end


def _as_text(clause: Clause, place: int, *, is_first: bool) -> tuple[list[RememberedAllergen], int]:
    """Return what is no name on file as it was written; only the first of a list may be a common word."""
    word = clause.words[place]
    is_hebrew = bool(hebrew_stems(word))
    if is_hebrew and place and is_first and not (word.startswith("ל") and len(word) > 3):
        return [], place
    if not _VAGUE.isdisjoint([word, *hebrew_stems(word)]):
        return [], place
    if not is_first and not common_words().isdisjoint([word, *hebrew_stems(word)]):
        return [], place
    end = next((one.end for one in clause.unknown if one.start == place), place + 1)
    text = as_written(clause.text, place, end) or " ".join(clause.words[place:end])
    return [_text(text[1:] if is_hebrew and place and word.startswith("ל") else text)], end


def _readings(own: Sequence[str]) -> list[str]:
    """Return a name as written, and without the prefix letters of Hebrew."""
    return [" ".join(own), *(" ".join([stem, *own[1:]]) for stem in hebrew_stems(own[0]))]


def _remembered(english: str, hebrew: str, allergen: Allergen) -> RememberedAllergen:
    return {
        "en": english,
        "he": hebrew,
        "ingredients": sorted(allergen.ingredients),
        "classes": sorted(allergen.classes),
    }


def _text(text: str) -> RememberedAllergen:
    return _remembered(text[:_LONGEST_TEXT], text[:_LONGEST_TEXT], Allergen())


def _without(clause: Clause, remarks: Sequence[_Remark]) -> str:
    """Return a clause without the words of these remarks; "" when nothing is left that says anything."""
    raw = clause.text.split()
    own = raw if len(raw) == len(clause.words) else clause.words
    gone = {place for remark in remarks for place in range(remark.start, remark.end)}
    left = [place for place in range(len(own)) if place not in gone]
    if remarks and _FILLING.issuperset(clause.words[place] for place in left):
        return ""
    return " ".join(own[place] for place in left).rstrip(" ,") + ("?" if clause.asks else "")
