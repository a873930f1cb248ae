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
from pharmacy_site.lib.text import Language, hebrew_stems, words
from pharmacy_site.lib.vocabulary import EMAIL, NUMBER_WORDS

LONGEST: Final = 14
"""Words of a sentence of the model's own; it is asked for at most ten."""
_CLAUSES: Final = re.compile(r"[,;:–—]|\s-\s|\.{2,}|…")
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
_SMALL_NUMBERS: Final = frozenset({"one", "אחת", "אחד"})
"""Number words that connecting sentences have for other reasons ("this one")."""
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
    r"\W*(?:of course|sure|certainly|gladly|absolutely|no problem|happy to|you got it|done|consider it|will do|okay|ok"
    r"|בטח|כמובן|בוודאי|בודאי|בכיף|בשמחה|אין בעיה|ברור|בהחלט|סגור|בסדר)\b",
    re.IGNORECASE,
)
# What a sentence of the model's own that asks nothing has to be: a greeting, thanks, an apology, sympathy or a wish. Whatever else
# it says in plain words is a statement ("Done.", "We sure do!"); that something is not known or not possible here is a ready
# sentence, because "I see no reason for worry" looks the same.
_COURTESY: Final = re.compile(
    r"\b(?:hello|hi|hey|dear|(?:good|nice) to (?:see|hear|meet)|good (?:morning|afternoon|evening|night|day|weekend|luck|question)|welcome|thanks|thank|cheers|sorry|"
    r"apolog\w+|(?:a )?pleasure|glad (?:you asked|to hear|to help|to be of help)|happy to (?:help|check|look|hear)|"
    r"hope|wish\w*|enjoy|congratulations|mazal|bless|sympath\w+|fair question|oh dear|poor|shabbat shalom|"
    r"sounds (?:like fun|tough|hard|exhausting|unpleasant|frustrating|stressful|painful|tiring|lovely|fun|rough|awful|difficult|busy|miserable|annoying)|"
    r"happy birthday|how (?:kind|sweet|nice|lovely|annoying|frustrating|exciting|thoughtful|unfair|awful|sad)|what (?:a (?:\w+ )?(?:pity|shame|night|day|week|journey)|lovely)|"
    r"get well|recover\w*|feel\w* better|take care|bye|goodbye|have an? |safe (?:trip|travels|journey|flight)|no need to apologi\w+|i can see why)\b"
    r"|(?<![א-ת])ו?(?:שלום|היי|הי|אהלן|בוקר טוב|בוקר אור|ערב טוב|צהריים (?:טובים|נעימים)|נעים (?:לראות|לשמוע|מאוד)|לילה טוב|יום טוב|שבוע טוב|שבת שלום|חג שמח|סוף שבוע|ברוכ\w*|ברוך|תודה|תודות|"
    r"סליח\w*|מתנצל\w*|מצטער\w*|צר לי|צר לנו|שיהיה לכם|שמחנו|שמח\w* (?:לעזור|לשמוע|ששאל\w+|שפנ\w+)|אשמח|נשמח|מקוו\w*|מאחל\w*|החלמה|רפואה שלמה|בהצלחה|מזל טוב|להתראות|כל טוב|"
    r"בריאות|תהנו|תיהנו|שאלה (?:טובה|יפה|מצוינת|מעולה)|דרך צלחה|נסיעה (?:טובה|נעימה)|טיסה נעימה|תרגיש\w*|אין על מה|כל הכבוד|בשעה טובה|איזה (?:יופי|כיף|סבל)|חבל ש\w+|כמה מרגש|ליבי אתכם|"
    r"לא (?:קל|פשוט)|נשמע (?:מתסכל|קשה|מתיש|לא נעים|כואב|מלחיץ|מעייף))(?![א-ת])"
    r"|^\W*(?:yes|no|sure(?: thing)?|certainly|absolutely|of course|gladly|i see|got it|כן|לא|כמובן|בטח|בוודאי|בהחלט|בשמחה(?: רבה)?|בכיף(?: גדול)?|מובן)\W*$",
    re.IGNORECASE,
)
# What plays down a risk, whatever sentence it stands in.
_REASSURES: Final = re.compile(
    r"\b(?:no|not|never|nothing|none|without|any|hardly|\w+n['’]t)\b.*\b(?:reasons?|problems?|concerns?|worr\w+|harm\w*|risks?|warnings?|objections?|against|danger\w*|"
    r"issues?|interactions?|wrong|afraid|fear)\b|\bwhy (?:not|worry)\b|\b(?:fine|safe|harmless|all right|alright|okay|ok|normal|helps|enough)\b(?! (?:trip|travels|journey|flight))"
    r"|(?<![א-ת])(?:אין|לא|איני|אינני|בלי|ללא|למה לא|שום)(?![א-ת]).*(?:בעי[הו]|חשש|אזהר|מניע|סיכון|סכנ|דאג|הסתייג|אינטראקצי|סיבה|לנסות)|(?<![א-ת])(?:זה )?(?:בסדר|בטוח|תקין|מתאים|לא נורא|יעזור|אפשר)\W*$",
    re.IGNORECASE,
)
# Questions that offer a deed which this chat cannot do, or that suggest what to do with a medicine.
_OFFERS_DEED: Final = re.compile(
    r"\b(?:reserve|keep|hold|set aside|put aside|set one|send|sent|deliver|ship|order|book|call (?:the|you|them|a)|ring|phone (?:you|them|the)|notify|remind|let you know|cancel)\b"
    r"|(?<![א-ת])(?:לשמור|לשלוח|להזמין|להתקשר|לצלצל|לעדכן|להודיע|להזכיר|לבטל|להכין|לארוז)(?![א-ת])",
    re.IGNORECASE,
)
_SUGGESTS: Final = re.compile(
    r"\b(?:shall|should|could|can|may|why|have you|is\w*|are\w*|would you (?:like|rather|prefer))\b.*\b(?:stop|skip|try|tried|take|taken|double|doubl\w+|give|given|wait|halve|combine)\b"
    r"|^\W*(?:לעצור|להפסיק|לדלג|לנסות|לקחת|לתת|לחכות|להכפיל|אולי(?! תרצו))(?![א-ת])",
    re.IGNORECASE,
)
_SURE_OF_STATEMENT: Final = 1.5
_SURE_OF_WORDS: Final = 0.7
"""From this margin of the classifier on a statement that is no courtesy, or unusual words, are shown all the same."""
_MOST_UNUSUAL: Final = 2
_SHORT_CLAUSE: Final = 3  # words from which a clause is looked at by itself
_DEED_DONE: Final = re.compile(
    r"\W*(?:(?:all )?(?:done|sorted|settled|booked|ordered|reserved|noted|arranged|all set)\b|(?:בוצע|סגור|סודר|טופל|נרשם|הוזמן|נשמר|נשלח)(?![א-ת]))",
    re.IGNORECASE,
)
_ONLINE: Final = frozenset(words("online site website web internet shop אתר מקוונת המקוונת אונליין אינטרנט"))
_OF_PLACES: Final = frozenset({"stock", "hours_today", "hours_week", "open_now"})
"""Facts whose yes is about a place: the message has to name it."""


@dataclass(frozen=True)
class Surroundings:
    """What a sentence stands among: the customer's message, names that may be repeated, and the answer's language."""

    message: str
    names: Sequence[str]
    language: Language


def faults(sentence: str, around: Surroundings) -> list[str]:
    """Return why a sentence may not be shown, [] when it only connects."""
    bare = _without_names(sentence, around).strip()
    found = _faults_of_form(bare)
    if _PLACEHOLDER.search(sentence) or EMAIL.search(sentence):
        found.append("contact")
    if markup(sentence) or "|" in sentence or _BARE_DOMAIN.search(sentence) or _TOOL.search(sentence):
        found.append("markup")
    if _OWN_RULES.search(sentence):
        found.append("prompt_leak")
    if _OF_ITSELF.search(sentence) and not _HONEST.fullmatch(sentence.strip()):
        found.append("claim")
    alone = verdict_alone(sentence)
    if _DEED_DONE.match(sentence) or _is_consent(sentence, alone, around):
        found.append("promise")
    if _REASSURES.search(sentence):
        found.append("claim")
    if bare.endswith("?") and _OFFERS_DEED.search(sentence):
        found.append("promise")
    if bare.endswith("?") and _SUGGESTS.search(sentence):
        found.append("advice")
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
    return found or ([] if alone else _faults_of_statement(sentence, bare, around))


def _is_consent(sentence: str, alone: str, around: Surroundings) -> bool:
    """Return whether a sentence agrees to a deed that the message asks for; `alone` is the yes or no that it is."""
    agrees = bool(_CONSENT.match(sentence)) or bool(alone)
    return agrees and alone not in _NEGATIVE and bool(_WANTS_DEED.search(around.message))


def _faults_of_form(sentence: str) -> list[str]:
    """Return what is wrong with the length and shape of a sentence: statements hide in long ones and in side clauses."""
    found = []
    if len(words(sentence)) > LONGEST:
        found.append("length")
    if sentence.endswith(":"):
        found.append("announcement")
    if sentence.endswith("?") and len(_clauses_of(sentence)) > 1:
        found.append("clauses")
    return found


def _faults_of_statement(sentence: str, bare: str, around: Surroundings) -> list[str]:
    """Return what a sentence states by the classifier, or why it may state something all the same.

    It may if it is no courtesy, or has words that connecting sentences seldom have. `bare` is the sentence without names.
    """
    if (label := glue.label_of(sentence)) != glue.CONNECT:
        return [label]
    margin, is_courtesy = glue.margin_of(sentence), _is_courtesy(bare)
    if not bare.endswith("?") and not is_courtesy and margin < _SURE_OF_STATEMENT:
        return ["no_courtesy"]
    unusual = glue.unusual_words(bare)
    if unusual and words(bare)[:1] == unusual[:1] and bare.lstrip()[:1].isupper():
        return ["name"]  # "Herzliya opens soon too!"
    if is_courtesy:  # "Have a wonderful time in Greece!"
        unusual = [word for word in unusual if word not in words(around.message)]
    if len(unusual) > _MOST_UNUSUAL or (unusual and margin < _SURE_OF_WORDS):
        return ["unusual"]
    return []


def _is_courtesy(sentence: str) -> bool:
    """Return whether a sentence is a greeting, thanks, an apology, sympathy or a wish, in each of its clauses."""
    clauses = [clause for clause in _clauses_of(sentence) if len(words(clause)) >= _SHORT_CLAUSE]
    is_name_alone = not words(sentence)  # of "Of course, David.", judged without its beginning
    return is_name_alone or (
        bool(_COURTESY.search(sentence)) and all(_COURTESY.search(clause) for clause in clauses)
    )


def _clauses_of(sentence: str) -> list[str]:
    return [clause for clause in _CLAUSES.split(sentence.rstrip(" ,.!?")) if clause.strip()]


def verdict_alone(sentence: str) -> str:
    """Return the "yes" or "no" that a sentence has nothing beside, or ""."""
    match = _VERDICT.fullmatch(sentence.strip())
    return match["word"].casefold() if match else ""


def verdict_removed(sentence: str, following: Fact | None, message: str = "") -> str:
    """Return a sentence without a "yes" or "no" at its beginning that the fact after it does not bear out."""
    match = _VERDICT.match(sentence)
    if match is None:
        return sentence
    word, is_weak = match["word"].casefold(), match["word"].casefold() in _WEAK
    if word in _AMBIGUOUS and not re.match(r"\s*[,.!:;–—-]|$", match["end"]):
        return sentence  # "No pharmacist needed to …", "לא מצאתי"
    fits = following is not None and following.polarity is (word not in _NEGATIVE)
    if fits and following and following.polarity and following.kind in _OF_PLACES and not is_weak:
        # "Is Nurofen any use against hair loss?" – "Yes! Nurofen is in stock at Dizengoff."
        fits = _names_place(message, following.subject)
    if fits:
        return sentence
    rest = sentence[match.end() :].strip()
    if len(rest.split()) < 2:  # "בטח שיש!" says yes twice
        return ""
    return verdict_removed(rest[:1].upper() + rest[1:], following, message)  # "Yes, it is."


def _names_place(message: str, subject: str) -> bool:
    """Return whether a message names the store that a fact is about; the online store goes by several names."""
    said = {reading for word in words(message) for reading in (word, *hebrew_stems(word))}
    place = set(words(subject))
    return not said.isdisjoint(place | (_ONLINE if place & _ONLINE else frozenset()))


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
