"""What a language model may word itself: wider rules than those for fixed sentences, without their trust.

A clause that declines, sends the customer to a professional or offers to look something up may name what it declines:
its words are left out before the rules are applied. Leaflet texts are left out where they are quoted verbatim.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from agent.safety.fixed_wording import lexicon as fixed_lexicon
from agent.safety.fixed_wording import markup, wording_rules, wrong_language
from agent.safety.lexicon import Lexicon, Span
from agent.safety.lexicon import Sentence as Words
from agent.safety.unmasking import spelled_out, unmask
from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.vocabulary import HEBREW, SENTENCE_MARK

_SHORTEST_QUOTE: Final = 8  # shorter pieces of a leaflet occur in any sentence
_QUOTE_MARK: Final = " quotedleaflet. "
_LEFT_OUT: Final = "ellipsis"
_CHAT_REACH: Final = 3
_NEGATION_REACH: Final = 2
_FOREIGN_WORDS: Final = 3
_LONGEST_SENTENCE: Final = 150  # words; a model that goes round in circles writes more
_SHORTEST_TALK: Final = 4  # fewer words are a courtesy or a name
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

_DONE: Final = tuple(
    "ed let put set sent told made took taken kept held done wrote written left rang spoken".split()
)
_DEED_ENDINGS: Final = {"i_have": _DONE, "i_am": ("ing",), "i_will": ("",), "they_will": ("",)}
_HEBREW_DEED: Final = re.compile(f"[{HEBREW}]{{2,}}תי")
# First persons that only look or understand, and adjectives that end alike.
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
    """The text with a mark for every leaflet text in it, however its quotes and blanks are written."""
    own = text.translate(_STRAIGHT)
    typed = _as_typed(own)
    # All sentences of a turn are compared with the same texts.
    likely = [quote for quote in quoted if not (word := _WORD.search(quote)) or word[0] in typed]
    quotes = set(remembered("quotes as typed", likely, _quotes_typed).values())
    held = {quote for quote in quotes if len(quote) >= _SHORTEST_QUOTE and quote in typed}
    for quote in sorted(held, key=len, reverse=True):
        spaced = r"[\s\u200e\u200f\u2066-\u2069]+".join(map(re.escape, quote.split()))
        own = re.sub(rf"(?<!\w){spaced}(?!\w)", _QUOTE_MARK, own)
    return own


def _quotes_typed(quotes: Iterable[str]) -> dict[str, str]:
    return {quote: _as_typed(quote).strip() for quote in quotes}


def _sentences(text: str) -> Iterator[tuple[list[str], list[int], bool]]:
    """The folded words of each sentence, the places where its clauses begin, and whether it asks."""
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


def _covered(s: Words, starts: Sequence[int]) -> set[int]:
    """The places of a sentence that decline, refer or offer to look up, each to the end of its clause."""
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


def _denied(s: Words, start: int) -> bool:
    return any(start - _NEGATION_REACH <= end - 1 < start for _, end in s.spans("not"))


def _about_chat(s: Words, hit: Span) -> bool:
    """Whether an act is one in the chat: "use the code", "try again"."""
    end = hit[1]
    return any(end <= start < end + _CHAT_REACH for start, _ in s.spans("chat_thing")) or any(
        start < end <= stop for start, stop in s.spans("chat_act")
    )


def _advises(s: Words, starts: Sequence[int]) -> bool:
    begins = {*starts, *(end for _, end in s.spans("lead"))}
    hits = {hit for hit in s.spans("imperative") if hit[0] in begins}
    hits |= s.spans("should") | s.spans("recommend") | s.spans("he_imperative") | s.spans("handling")
    stored = s.spans("forbidden") if s.has("our_data") else frozenset[Span]()
    return any(not _about_chat(s, hit) and not _overlaps(hit, stored) for hit in hits)


def _claims_safe(s: Words, *, disclaimed: bool) -> bool:
    excused = s.spans("not_safe") | (
        s.spans("no_interaction") if disclaimed and s.has("our_data") else frozenset()
    )
    return any(not _overlaps(hit, excused) and not _denied(s, hit[0]) for hit in s.spans("safe"))


def _promises(s: Words) -> bool:
    stored = s.spans("status")
    return any(_deeds(s)) or any(
        not _denied_inside(s, hit) and not _overlaps(hit, stored) for hit in s.spans("promise")
    )


def _deeds(s: Words) -> Iterator[bool]:
    """Whatever "we have …ed", "I am …ing", "I will …" or a Hebrew first person says that is no mere looking."""
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


def _denied_inside(s: Words, hit: tuple[int, int]) -> bool:
    """Whether a deed is denied: "the request was not passed on", "I won't send it"."""
    return any(hit[0] - 1 <= start < hit[1] for start, _ in s.spans("not"))


def _doses(s: Words) -> bool:
    return s.has("dose") or (s.has("tie") and s.has("amount"))


def _compares(s: Words) -> bool:
    return s.has("comparison") or (s.has("than") and not s.has("measurable"))


def _claims_identity(s: Words) -> bool:
    return s.has("identity") and not s.has("not_identity")


def _off_topic(s: Words) -> bool:
    """Whether a statement, which a list of names is not, holds nothing that this assistant speaks about."""
    return not s.asks and len(s.words) >= _SHORTEST_TALK and s.has("statement") and not s.has("anchor")


def _rules(s: Words, starts: Sequence[int], *, disclaimed: bool) -> Iterator[str]:
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


def _surface(text: str) -> Iterator[str]:
    """Rules on what a text looks like, its quotes included."""
    bare = _EMAIL.sub(" ", text) if _AT.search(text) else text
    if bare != text:
        yield "contact"
    if markup(text) or _MARKUP.search(bare) or spelled_out(text):
        yield "markup"
    if _IDENTIFIER.search(text):
        yield "tool_name"
    if len(_OTHER_SCRIPT.findall(text)) > _OTHER_LETTERS:
        yield "foreign_language"


class _Read(NamedTuple):
    """A sentence as it is judged."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    asks: bool


def _whole(read: _Read) -> Words:
    """The sentence with all of its words: it is asked for its concepts more than once."""
    whole = remembered(
        "sentences read", (read,), lambda _: {read: _lexicon().sentence(list(read.words), asks=read.asks)}
    )
    return whole[read]


def _disclaims(read: _Read) -> bool:
    return len(read.words) <= _LONGEST_SENTENCE and _whole(read).has("not_mean_safe")


def _broken(read: _Read, *, disclaimed: bool) -> list[str]:
    """The rules that one sentence breaks by its words."""
    if len(read.words) > _LONGEST_SENTENCE:
        return ["run_on"]
    known, broken = _lexicon(), []
    whole = _whole(read)
    covered = _covered(whole, read.starts)
    # One word stands for each stretch left out, so that its neighbours do not join.
    kept = [p for p in range(len(whole.words)) if p not in covered or p - 1 not in covered]
    if whole.has("unneeded"):
        broken.append("advice")
    if not covered and _off_topic(whole):
        broken.append("off_topic")
    words = [_LEFT_OUT if place in covered else whole.words[place] for place in kept]
    begins = [sum(place < start for place in kept) for start in read.starts if start not in covered]
    left = whole if not covered else known.sentence(words, asks=False)
    broken += _rules(left, begins, disclaimed=disclaimed)
    broken += wording_rules([fixed_lexicon().sentence(words, asks=False)])
    return broken


def check_free(text: str, lang: str, *, quoted: Sequence[str] = ()) -> list[str]:
    """Return the names of the rules that a language model's own wording breaks, [] when it may be shown.

    `quoted` are a leaflet's exact texts, which may say what the answer itself may not.
    """
    broken = list(_surface(text))
    own = _without_quotes(text, quoted)
    plain = unmask(own)
    read = [_Read(tuple(words), tuple(starts), asks) for words, starts, asks in _sentences(plain)]
    disclaimed = any(_disclaims(one) for one in read)
    # What was heard sentence by sentence is looked at again as a whole: the same words break the same rules.
    judged = remembered(
        ("rules broken", disclaimed),
        read,
        lambda new: {one: _broken(one, disclaimed=disclaimed) for one in new},
    )
    broken += [rule for one in read for rule in judged[one]]
    if wrong_language(own.replace(_QUOTE_MARK, " "), lang):
        broken.append("wrong_language")
    return list(dict.fromkeys(broken))
