"""Check what a language model worded itself, by stricter rules than those for fixed sentences.

A clause that declines, sends the customer to a professional or offers to look something up may name what it declines:
its words are left out before the rules are applied. Leaflet texts are left out where they are quoted verbatim.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from agent.safety.fixed_wording import lexicon as fixed_lexicon
from agent.safety.fixed_wording import markup, wording_rules, wrong_language
from agent.safety.lexicon import Lexicon, Sentence, Span
from agent.safety.unmasking import spelled_out, unmask
from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.vocabulary import HEBREW, SENTENCE_MARK

# Shorter pieces of a leaflet occur in any sentence.
_SHORTEST_QUOTE: Final = 8
_QUOTE_MARK: Final = " quotedleaflet. "
_LEFT_OUT: Final = "ellipsis"
_CHAT_REACH: Final = 3
_NEGATION_REACH: Final = 2
_FOREIGN_WORDS: Final = 3
# In words; a model that repeats itself without end writes more.
_LONGEST_SENTENCE: Final = 150
# In words; what is shorter is a courtesy or a name.
_SHORTEST_STATEMENT: Final = 4
_OTHER_LETTERS: Final = 8

_SENTENCE: Final = re.compile(f"({SENTENCE_MARK.pattern})")
_CLAUSE: Final = re.compile(
    r"(?<!\d)[,،]|,(?!\d)|[:()\[\]•●▪|“”„«»]|(?<!\w)\"|\"(?!\w)|\s[-–—*]\s|[—]|^\s*[-–*]\s*"
)
_WORD: Final = re.compile(r"\w+")
_BLANKS: Final = re.compile(r"[\s\u200e\u200f\u2066-\u2069]+")
_STRAIGHT: Final = str.maketrans(
    {**dict.fromkeys("’‘׳", "'"), **dict.fromkeys("“”„״", '"'), "–": "-", "‑": "-"}
)

_AT: Final = re.compile(r"@|[(\[]at[)\]]", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[\w.+%-]{1,64}\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"```|^\s*\|.*\||\|\s*:?-{3,}|\[\[|\]\]|\{\{|\}\}|[{\[]\s*[\"']|[\"']\s*:\s*[\"'{\[\d]|<\w[^>]*>?"
    r"|\[[^\]]*\]\s*[(\[]|\[[A-Z]+_\d+\]|&#?\w+;|\w:(?=//)"
    r"|(?<![\w@.])(?:[a-z0-9-]+\.)+(?:com|org|net|io|il|gov|edu|info|biz|app|dev|xyz|shop|ru|uk|example)\b",
    re.IGNORECASE | re.MULTILINE,
)
_IDENTIFIER: Final = re.compile(r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]{3,}[A-Z][a-z]{3,}\w*\b")

_PARTICIPLE_ENDINGS: Final = tuple(
    "ed let put set sent told made took taken kept held done wrote written left rang spoken".split()
)
_DEED_ENDINGS: Final = {"i_have": _PARTICIPLE_ENDINGS, "i_am": ("ing",), "i_will": ("",), "they_will": ("",)}
_HEBREW_DEED: Final = re.compile(f"[{HEBREW}]{{2,}}תי")
# Verbs in the first person for looking and understanding only, and adjectives with the same ending.
_HEBREW_NO_DEEDS: Final = frozenset(
    fold(word)
    for word in """מצאתי בדקתי הבנתי חיפשתי הצלחתי ראיתי הנחתי שאלתי קראתי התכוונתי עניתי ציינתי הייתי אותי איתי אתי אמרתי ידעתי איתרתי
    אמיתי איכותי משמעותי חברתי קבוצתי תקופתי מהותי תמציתי ביתי בריאותי שירותי תזונתי אישיותי מערכתי שיטתי ויתי אליתי""".split()
)

_OTHER_SCRIPT: Final = re.compile(r"[\u0370-\u058f\u0600-\u1cff\u3040-\ud7ff]")

_PLAIN_RULES: Final = (
    ("diagnosis", "diagnosis"),
    ("push", "push"),
    ("tool_name", "tool_talk"),
    ("prompt_leak", "prompt"),
)


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon.load("free")


def _as_typed(text: str) -> str:
    return _BLANKS.sub(" ", text.translate(_STRAIGHT))


def _without_quotes(text: str, quoted: Sequence[str]) -> str:
    """Return the text with a mark in place of each leaflet text, however its quotes and blanks are written."""
    own = text.translate(_STRAIGHT)
    typed = _as_typed(own)
    # All sentences of a turn are compared with the same texts.
    likely = [quote for quote in quoted if not (word := _WORD.search(quote)) or word[0] in typed]
    quotes = set(remembered("quotes as typed", likely, _quotes_typed).values())
    occurring = {quote for quote in quotes if len(quote) >= _SHORTEST_QUOTE and quote in typed}
    for quote in sorted(occurring, key=len, reverse=True):
        spaced = r"[\s\u200e\u200f\u2066-\u2069]+".join(map(re.escape, quote.split()))
        own = re.sub(rf"(?<!\w){spaced}(?!\w)", _QUOTE_MARK, own)
    return own


def _quotes_typed(quotes: Iterable[str]) -> dict[str, str]:
    return {quote: _as_typed(quote).strip() for quote in quotes}


def _sentences(text: str) -> Iterator[tuple[list[str], list[int], bool]]:
    """Yield the folded words of each sentence, the places where its clauses begin, and whether it is a question."""
    parts = [*_SENTENCE.split(text), ""]
    for part, mark in zip(parts[::2], parts[1::2], strict=True):
        words: list[str] = []
        starts: list[int] = []
        for clause in _CLAUSE.split(part):
            if more := fold(clause).replace("_", " ").split():
                starts.append(len(words))
                words += more
        if words:
            yield words, starts, "?" in mark


def _excused_places(s: Sentence, starts: Sequence[int]) -> set[int]:
    """Return the places of the words that decline, refer or offer to look up, each to the end of its clause."""
    turns = {start for start, _ in s.spans("turn")}
    resumes = {start for start, _ in s.spans("resumes")}
    ends = [start for start in starts if start and start not in resumes]
    places: set[int] = set()
    for concept in ("decline", "refer", "tells", "looking", "echo", "attribution"):
        for start, end in s.spans(concept):
            if concept != "tells" and any(start < clause < end for clause in ends):
                continue
            stop = min((place for place in (*turns, *ends) if place >= end), default=len(s.words))
            if concept == "attribution":
                stop = end
            places.update(range(start, stop))
    return places


def _overlaps(hit: Span, spans: Iterable[Span]) -> bool:
    return any(start < hit[1] and hit[0] < end for start, end in spans)


def _denied(s: Sentence, start: int) -> bool:
    return any(start - _NEGATION_REACH <= end - 1 < start for _, end in s.spans("not"))


def _about_chat(s: Sentence, hit: Span) -> bool:
    """Return whether the act is one in the chat: "use the code", "try again"."""
    end = hit[1]
    return any(end <= start < end + _CHAT_REACH for start, _ in s.spans("chat_thing")) or any(
        start < end <= stop for start, stop in s.spans("chat_act")
    )


def _advises(s: Sentence, starts: Sequence[int]) -> bool:
    begins = {*starts, *(end for _, end in s.spans("lead"))}
    hits = {hit for hit in s.spans("imperative") if hit[0] in begins}
    hits |= s.spans("should") | s.spans("recommend") | s.spans("he_imperative") | s.spans("handling")
    stored = s.spans("forbidden") if s.has("our_data") else frozenset[Span]()
    return any(not _about_chat(s, hit) and not _overlaps(hit, stored) for hit in hits)


def _claims_safe(s: Sentence, *, disclaimed: bool) -> bool:
    excused = s.spans("not_safe") | (
        s.spans("no_interaction") if disclaimed and s.has("our_data") else frozenset()
    )
    return any(not _overlaps(hit, excused) and not _denied(s, hit[0]) for hit in s.spans("safe"))


def _promises(s: Sentence) -> bool:
    stored = s.spans("status")
    return any(_deeds(s)) or any(
        not _denied_inside(s, hit) and not _overlaps(hit, stored) for hit in s.spans("promise")
    )


def _deeds(s: Sentence) -> Iterator[bool]:
    """Yield whether each verb after "we have", "I am", "I will", or in the Hebrew first person, is a deed.

    Looking something up is none.
    """
    spared = {place for name in ("harmless_deed", "not") for span in s.spans(name) for place in range(*span)}
    spared |= {place for place, word in enumerate(s.words) if word == _LEFT_OUT}
    adverbs = {place for span in s.spans("adv") for place in range(*span)}
    for opening, endings in _DEED_ENDINGS.items():
        for _, end in s.spans(opening):
            place = next((place for place in range(end, len(s.words)) if place not in adverbs), None)
            if place is not None and place not in spared:
                yield s.words[place].endswith(endings)
    for place, word in enumerate(s.words):
        if _HEBREW_DEED.fullmatch(word) and word not in _HEBREW_NO_DEEDS:
            yield not _denied(s, place)


def _denied_inside(s: Sentence, hit: tuple[int, int]) -> bool:
    """Return whether the deed is denied: "the request was not passed on", "I won't send it"."""
    return any(hit[0] - 1 <= start < hit[1] for start, _ in s.spans("not"))


def _doses(s: Sentence) -> bool:
    return s.has("dose") or (s.has("tie") and s.has("amount"))


def _compares(s: Sentence) -> bool:
    return s.has("comparison") or (s.has("than") and not s.has("measurable"))


def _claims_identity(s: Sentence) -> bool:
    return s.has("identity") and not s.has("not_identity")


def _off_topic(s: Sentence) -> bool:
    """Return whether a statement names none of the assistant's subjects; a list of names is no statement."""
    return not s.asks and len(s.words) >= _SHORTEST_STATEMENT and s.has("statement") and not s.has("anchor")


def _rules(s: Sentence, starts: Sequence[int], *, disclaimed: bool) -> Iterator[str]:
    if _advises(s, starts):
        yield "advice"
    if _doses(s):
        yield "dose_for_person"
    if _claims_safe(s, disclaimed=disclaimed):
        yield "safe_claim"
    if _promises(s):
        yield "promise"
    if _compares(s):
        yield "comparison"
    if _claims_identity(s):
        yield "identity_claim"
    if len(s.spans("foreign")) >= _FOREIGN_WORDS:
        yield "foreign_language"
    for rule, concept in _PLAIN_RULES:
        if s.has(concept):
            yield rule


def _broken_by_form(text: str) -> Iterator[str]:
    """Yield the rules that a text breaks by its form, quotes included."""
    bare = _EMAIL.sub(" ", text) if _AT.search(text) else text
    if bare != text:
        yield "contact"
    if markup(text) or _MARKUP.search(bare) or spelled_out(text):
        yield "markup"
    if _IDENTIFIER.search(text):
        yield "tool_name"
    if len(_OTHER_SCRIPT.findall(text)) > _OTHER_LETTERS:
        yield "foreign_language"


class _ReadSentence(NamedTuple):
    """A sentence in the form in which it is checked."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    asks: bool


def _sentence_read(read: _ReadSentence) -> Sentence:
    """Return the sentence with all of its words, from the turn's memo: its concepts are needed more than once."""
    whole = remembered(
        "sentences read", (read,), lambda _: {read: _lexicon().sentence(list(read.words), asks=read.asks)}
    )
    return whole[read]


def _disclaims(read: _ReadSentence) -> bool:
    return len(read.words) <= _LONGEST_SENTENCE and _sentence_read(read).has("not_mean_safe")


def _broken_by_words(read: _ReadSentence, *, disclaimed: bool) -> list[str]:
    """Return the rules that one sentence breaks by its words."""
    if len(read.words) > _LONGEST_SENTENCE:
        return ["run_on"]
    lexicon, broken = _lexicon(), []
    whole = _sentence_read(read)
    excused = _excused_places(whole, read.starts)
    # Each stretch left out is replaced by one word, so that its neighbours do not become adjacent.
    remaining = [p for p in range(len(whole.words)) if p not in excused or p - 1 not in excused]
    if whole.has("unneeded"):
        broken.append("advice")
    if not excused and _off_topic(whole):
        broken.append("off_topic")
    words = [_LEFT_OUT if place in excused else whole.words[place] for place in remaining]
    begins = [sum(place < start for place in remaining) for start in read.starts if start not in excused]
    left = whole if not excused else lexicon.sentence(words, asks=False)
    broken += _rules(left, begins, disclaimed=disclaimed)
    broken += wording_rules([fixed_lexicon().sentence(words, asks=False)])
    return broken


def check_free(text: str, lang: str, *, quoted: Sequence[str] = ()) -> list[str]:
    """Return the names of the rules that a language model's own wording breaks, [] when it may be shown.

    `quoted` are a leaflet's exact texts, which may say what the answer itself may not.
    """
    broken = list(_broken_by_form(text))
    own = _without_quotes(text, quoted)
    plain = unmask(own)
    read = [_ReadSentence(tuple(words), tuple(starts), asks) for words, starts, asks in _sentences(plain)]
    disclaimed = any(_disclaims(one) for one in read)
    # A text is checked sentence by sentence and then as a whole: the memo avoids checking a sentence twice.
    judged = remembered(
        ("rules broken", disclaimed),
        read,
        lambda new: {one: _broken_by_words(one, disclaimed=disclaimed) for one in new},
    )
    broken += [rule for one in read for rule in judged[one]]
    if wrong_language(own.replace(_QUOTE_MARK, " "), lang):
        broken.append("wrong_language")
    return list(dict.fromkeys(broken))
