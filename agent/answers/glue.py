"""Check the words that a language model puts between facts: a sentence that states anything itself is dropped. Pure.

First rules that need no reading (numbers, names, links, letters), then the classifier of `agent.understanding.glue`.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.answers.facts.fact import Fact
from agent.safety.fixed_wording import markup, wrong_language
from agent.understanding import glue
from pharmacy_site.lib.text import Language, words
from pharmacy_site.lib.vocabulary import EMAIL, NUMBER_WORDS

LONGEST: Final = 260
"""Characters of a connecting sentence."""
_NUMBER: Final = re.compile(r"\d+(?:[.,:/]\d+)*")
_CAPITALIZED: Final = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\"“(–—-])\b[A-Z][\w’'-]+")
_LATIN: Final = re.compile(r"[A-Za-z][\w’'-]+")
_QUOTED: Final = re.compile(r"[\"“”„«»]")
_BARE_DOMAIN: Final = re.compile(r"\b[\w-]+(?:\.|\s+dot\s+)(?:com|co|net|org|il|io|info)\b", re.IGNORECASE)
_TOOL: Final = re.compile(r"\b[a-z]+_[a-z_]+\b")
_SPACED: Final = re.compile(r"(?:\b\w\b[\s.·-]+){4,}")
_OWN_RULES: Final = re.compile(
    r"\b(?:my|the|these) (?:system )?(?:rules|instructions|prompt|guidelines)\b|system prompt|(?:הכללים|ההנחיות|ההוראות) של",
    re.IGNORECASE,
)
# What the assistant is, and what becomes of what is written, is a fact of its own.
_OF_ITSELF: Final = re.compile(
    r"\bi(?:\sam|['’]m) (?:(?!not|no|neither)\w+ ){0,4}(?:assistant|bot|chatbot|robot|machine|computer|program|ai|human|person|pharmacist)\b"
    r"|\b(?:trained|programmed) by\b"
    r"|(?<![א-ת])אני (?:[א-ת]+ )?(?:עוזר|עוזרת|בוט|רובוט|מחשב|תוכנה|בינה|רוקח|רוקחת|אנושי|אנושית)(?![א-ת])",
    re.IGNORECASE,
)
_HONEST: Final = re.compile(
    r"(?:no[,.!]? )?i(?:\sam|['’]m) (?:only |just )?an? (?:automated |digital |virtual |chat )*(?:assistant|bot|computer program)"
    r"(?: of (?:the|this) pharmacy)?(?:[,;]? (?:and )?(?:not|neither|nor|no)(?: an?)? (?:pharmacist|doctor|person|human))*[.!,]?"
    r"|(?:לא[,.!]? )?אני (?:רק )?(?:עוזר|עוזרת|בוט)(?: (?:אוטומטי|אוטומטית|דיגיטלי|דיגיטלית|וירטואלי|וירטואלית))?(?: של בית המרקחת)?"
    r"(?:,? ו?לא (?:רוקח|רוקחת|רופא|רופאה|אדם|בן אדם))*[.!,]?",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(r"\[\[?|\]\]?")
_ALLOWED_NAMES: Final = frozenset(
    words("I I'm I'll I've I'd OK Okay English Hebrew Rx OTC Sorry Israel עברית")
)
_SMALL_NUMBERS: Final = frozenset({"one", "אחת", "אחד", "two", "שניים", "שתיים"})
"""Number words that connecting sentences have for other reasons ("this one", "the two of them")."""
_STRONG: Final = (
    "yes", "yeah", "yep", "yup", "no", "nope", "absolutely", "definitely", "indeed", "correct", "right", "exactly", "true",
    "we do", "we have", "it is", "it does", "you can", "you may", "not at all", "you're in luck",
    "כן", "לא", "בהחלט", "בוודאי", "ודאי", "נכון", "אכן", "לגמרי", "חד משמעית", "יש לנו", "אין לנו", "יש", "אין", "אפשר",
    "מותר", "אסור",
)  # fmt: skip
_WEAK: Final = (
    "sure",
    "of course",
    "certainly",
    "great news",
    "good news",
    "בטח",
    "כמובן",
    "ברור",
    "אין בעיה",
)
_VERDICT: Final = re.compile(
    rf"^\W*(?P<word>{'|'.join(sorted(map(re.escape, (*_STRONG, *_WEAK)), key=len, reverse=True))})(?P<end>\W+|$)",
    re.IGNORECASE,
)
_NEGATIVE: Final = frozenset({"no", "nope", "not at all", "לא", "אין", "אין לנו", "אסור"})
_AMBIGUOUS: Final = frozenset(
    {"no", "right", "true", "we have", "we do", "it is", "it does", "you can", "you may", "not at all"}
    | {"לא", "נכון", "יש", "יש לנו", "אין", "אין לנו", "אפשר", "מותר", "אסור", "לגמרי"}
)
"""Words that answer by themselves only before a mark: "No, …", but not "No pharmacist has to …"."""
# "Can you keep one for me?" – "Of course!" promises what this chat cannot do.
_WANTS_DEED: Final = re.compile(
    r"\b(?:hold|keep|reserve|set aside|put aside|notify|let me know|update me|remind|send|deliver|ship|order|book|call|ring|phone me|back to me|contact|bring|fetch|prepare|transfer|cancel|tell them|ask them)\b"
    r"|לשמור|תשמר|שמרו|שתשמר|שמור לי|תעדכנ|לעדכן|עדכנו|להודיע|תודיע|תזכיר|שלח|לשלוח|משלוח|להזמין|תזמינ|תתקשר|להתקשר|יתקשר|תחזרו|לחזור אל|להכין|תכינ|להעביר|תעביר|לבטל|תבטל|להביא|תביא|תגיד|תבקש",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"\W*(?:of course|sure|certainly|gladly|absolutely|no problem|happy to|with pleasure|you got it|done|consider it|will do|okay|ok"
    r"|בטח|כמובן|בוודאי|בודאי|בכיף|בשמחה|אין בעיה|ברור|בהחלט|סגור|בסדר)\b",
    re.IGNORECASE,
)
_OF_HEALTH: Final = ("leaflet", "interaction")


@dataclass(frozen=True)
class Surroundings:
    """What a sentence stands among: the customer's message, names that may be repeated, and the answer's language."""

    message: str
    names: Sequence[str]
    language: Language


def faults(sentence: str, around: Surroundings) -> list[str]:
    """Return why a sentence may not be shown, [] when it only connects."""
    found = []
    if len(sentence) > LONGEST:
        found.append("length")
    if _PLACEHOLDER.search(sentence) or EMAIL.search(sentence):
        found.append("contact")
    if markup(sentence) or "|" in sentence or _BARE_DOMAIN.search(sentence) or _TOOL.search(sentence):
        found.append("markup")
    if _OWN_RULES.search(sentence):
        found.append("prompt_leak")
    if _OF_ITSELF.search(sentence) and not _HONEST.fullmatch(sentence.strip()):
        found.append("claim")
    alone = verdict_alone(sentence)
    if (_CONSENT.match(sentence) or alone) and alone not in _NEGATIVE and _WANTS_DEED.search(around.message):
        found.append("promise")
    if _is_disguised(sentence):
        found.append("letters")
    if _numbers(sentence) - _numbers(around.message):
        found.append("number")
    if _names_unknown(sentence, around):
        found.append("name")
    if _QUOTED.search(re.sub(r"(?<=[א-ת])[\"“”](?=[א-ת])", "", sentence)) and not _quotes_message(
        sentence, around
    ):
        found.append("quote")
    if wrong_language(_without_names(sentence, around), around.language):
        found.append("wrong_language")
    # A yes or no alone states nothing: it is shown only before a fact that says the same.
    if not found and not alone and (label := glue.label_of(sentence)) != glue.CONNECT:
        found.append(label)
    return found


def verdict_alone(sentence: str) -> str:
    """Return the "yes" or "no" that a sentence has nothing beside, or ""."""
    match = _VERDICT.fullmatch(sentence.strip())
    return match["word"].casefold() if match else ""


def verdict_removed(sentence: str, following: Fact | None) -> str:
    """Return a sentence without a "yes" or "no" at its beginning that the fact after it does not bear out."""
    match = _VERDICT.match(sentence)
    if match is None:
        return sentence
    word, is_weak = match["word"].casefold(), match["word"].casefold() in _WEAK
    if word in _AMBIGUOUS and not re.match(r"\s*[,.!:;–—-]|$", match["end"]):
        return sentence  # "No pharmacist needed to …", "לא מצאתי"
    polarity = following.polarity if following else None
    fits = polarity is not None and polarity is (word not in _NEGATIVE)
    if is_weak and polarity is None and following and not following.kind.startswith(_OF_HEALTH):
        fits = True
    if fits:
        return sentence
    rest = sentence[match.end() :].strip()
    return rest[:1].upper() + rest[1:]


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, in digits and in words."""
    spelled = {word for word in words(text) if word in NUMBER_WORDS and word not in _SMALL_NUMBERS}
    return {*_NUMBER.findall(unicodedata.normalize("NFKC", text)), *spelled}


def _is_disguised(sentence: str) -> bool:
    """Return whether letters stand for others that they look like, or a word is spelt with blanks."""
    plain = unicodedata.normalize("NFKC", sentence.replace("…", "")) == sentence.replace("…", "")
    foreign = any(
        char.isalpha() and not unicodedata.name(char, "").startswith(("HEBREW", "LATIN")) for char in sentence
    )
    return not plain or foreign or bool(_SPACED.search(sentence))


def _names_unknown(sentence: str, around: Surroundings) -> bool:
    """Return whether a sentence has a name that neither the message nor a fact has: a company, a place, a person."""
    known = {
        *_ALLOWED_NAMES,
        *words(around.message),
        *(word for name in around.names for word in words(name)),
    }
    names = (_LATIN if around.language == "he" else _CAPITALIZED).findall(sentence)
    return any(not known.issuperset(words(name)) for name in names)


def _without_names(sentence: str, around: Surroundings) -> str:
    """Return a sentence without the names in it, which may be in the other letters."""
    for name in sorted(filter(None, around.names), key=len, reverse=True):
        sentence = re.sub(re.escape(name), " ", sentence, flags=re.IGNORECASE)
    return sentence


def _quotes_message(sentence: str, around: Surroundings) -> bool:
    """Return whether what stands in quotation marks is the customer's own wording."""
    inside = re.findall(r"[\"“„«]([^\"“”„«»]+)[\"”“»]", sentence)
    known = [around.message.casefold(), *(name.casefold() for name in around.names)]
    return bool(inside) and all(
        any(text.strip(" .,?!").casefold() in one for one in known) for text in inside
    )
