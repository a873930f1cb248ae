"""Read whether a message calls off or changes what was asked about before: "I don't want it", "אל תזמינו", "add the other".

Whole clauses count, never single words: "I don't want to live" calls nothing off, and "stop my metformin" asks about
a treatment. Who calls may read what is read here before a classifier reads the same words as distress.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pharmacy_site.lib.text import words

_NAME: Final = r"medname\d+"
_PLACE: Final = re.compile(r"medname(\d+)")
_THING: Final = r"(?:refills?|orders?|requests?|prescriptions?|medicines?|medications?|meds?|card)"
_IT: Final = (
    rf"(?: (?:it|that|this|them|these|those|one|(?:(?:the|my|this|that|any|a) )?(?:{_THING}|{_NAME})))?"
)
_ORDER: Final = r"(?:order|reorder|refill|submit|request|place|process|confirm|get|fill|book)"
_NOT: Final = r"(?:dont|do not|didnt|did not|wont|will not|no longer)"
_ZE: Final = (
    rf"(?: (?:את )?(?:זה|זאת|אותו|אותה|אותם|התרופה|הניפוק|ההזמנה|הבקשה|המרשם|תרופה|ה{_NAME}|{_NAME}))?"
)

_OUTRIGHT: Final = (
    rf"(?:i |we )?(?:really |actually )?{_NOT} (?:(?:really|actually) )?(?:want|need)(?: to (?:have|{_ORDER}))?{_IT}",
    rf"(?:dont|do not|never) (?:you )?{_ORDER}{_IT}",
    rf"(?:(?:i (?:want|would like|need)|id like|can you|could you|can i|i) (?:to )?)?(?:cancel|call off|drop|scrap){_IT}",
    r"(?:call|take) (?:it|that|this|the (?:whole thing|refill|order|request)) (?:off|back)",
    r"(?:i )?take (?:it|that) back",
    rf"stop (?:the |my |this |that )?{_THING}",
    rf"(?:אני |אנחנו )?(?:כבר )?לא (?:רוצה|רוצים|רציתי|רצינו|צריך|צריכה|צריכים|מעוניין|מעוניינת|מעוניינים)(?: ל(?:הזמין|נפק|חדש|קבל))?{_ZE}",
    rf"(?:אל|לא) ת(?:זמינו?|זמיני|נפקו?|נפקי|גישו?|גישי|בצעו?|בצעי|אשרו?|אשרי|בקשו?|בקשי){_ZE}",
    rf"לא ל(?:הזמין|נפק|הגיש|בצע|אשר|חדש){_ZE}",
    rf"(?:(?:אני )?(?:רוצה|מבקש|מבקשת|צריך|צריכה) |אפשר )?(?:תבטלו?|תבטלי|בטלו?|בטלי|לבטל|מבטלת?){_ZE}",
)
"""Says by itself that nothing shall be ordered, whatever else the message says."""
_BY_ITSELF: Final = (
    *_OUTRIGHT,
    r"(?:please )?stop(?: it| this| that| there| right there| now)?",
    r"(?:dont|do not) (?:you )?(?:do|send|deliver|go ahead(?: with)?|continue(?: with)?|proceed(?: with)?)(?: it| that| this| anything)?",
    r"(?:never ?mind|forget(?: about)? (?:it|that|this)|leave it(?: be)?|undo(?: it| that| this)?|skip (?:it|that|this))",
    r"i(?: have|ve)? changed my mind|changed my mind",
    rf"(?:אל|לא) ת(?:שלחו?|שלחי|עשו|עשה|עשי|משיכו?|משיכי|עבירו?|עבירי){_ZE}(?: עם זה)?",
    rf"לא ל(?:שלוח|המשיך|עשות|העביר){_ZE}(?: עם זה)?",
    rf"(?:תעצרו?|תעצור|תעצרי|עצרו?|עצור|עצרי|תפסיקו?|תפסיקי|הפסיקו?){_ZE}(?: עם זה)?",
    rf"(?:עזבו?|עזוב|עזבי|תעזבו?|תעזוב|תעזבי|תשכחו?|תשכחי|שכחו?){_ZE}(?: מזה)?",
    r"(?:(?:its|thats|it is|that is|it|that) )?(?:not important|doesnt matter|isnt important)",
    r"לא (?:משנה|חשוב)|התחרטתי|התחרטנו|שיניתי (?:את )?ה?דעתי|שינינו (?:את )?ה?דעתנו",
)
"""Says so in a message that says nothing else: "I changed my mind, I'll pick it up" changes the place only."""
_FILL: Final = (
    r"no|nope|nah|please|pls|ok|okay|oh|hey|hi|sorry|wait|hold on|actually|well|thanks|thank you|thx|then|now|just|really|anymore|any more"
    r"|any longer|after all|yet|today|at all|for me|so|right now|again|everything|all|it|"
    r"לא|אה|אוי|בבקשה|סליחה|רגע|בעצם|טוב|תודה|רבה|אז|עכשיו|כרגע|יותר|כבר|היום|עדיין|בשבילי|לי|חבל|נו|אוקיי|אוקי|הכל|שנייה|עוד|בכלל"
)
_SPLIT: Final = re.compile(
    r"[,.;:!?\n\u2013\u2014]+|\s-\s|\b(?:but|and|because|cause|since)\b|(?<![\w\"'])(?:אבל|כי)(?![\w\"'])",
    re.IGNORECASE,
)


# As `pharmacy_site.lib.text.fold` writes Hebrew.
_FOLDED: Final = str.maketrans("ךםןףץ", "כמנפצ")


def _whole(phrases: Sequence[str]) -> re.Pattern[str]:
    pattern = rf"(?:(?:{_FILL}) )*(?:{'|'.join(phrases)})(?: (?:{_FILL}))*"
    return re.compile(pattern.translate(_FOLDED).replace("יי", "י").replace("וו", "ו"))


_OUTRIGHT_CLAUSE: Final = _whole(_OUTRIGHT)
_CLAUSE: Final = _whole(_BY_ITSELF)
_YES: Final = frozenset(words("yes yeah yep sure כן בטח"))
_FILL_CLAUSE: Final = _whole([_FILL])
_LASTING: Final = re.compile(
    r"\b(?:any ?more|any longer|ever)\b|(?<!\w)(?:יותר|לעולם|אף פעם)(?!\w)".translate(_FOLDED)
)
_SWEEPING: Final = re.compile(r"\b(?:everything|(?<!at )all)\b|(?<!\w)ה?כול?(?!\w)")
_LEADING: Final = re.compile(rf"(?:(?:{_FILL}) )*")
_LONGEST: Final = 200
"""Characters of a message that may call something off; a longer one says more."""


_SIGN: Final = re.compile(
    r"\b(?:dont|do not|didnt|did not|wont|will not|no longer|never|cancel|call|drop|scrap|take|stop|only|just|without|except|minus|remove|skip|other|no|not|wait|actually|instead|rather|sorry|meant|mean|forget|leave|undo|skip|changed|add|too|also|as well|both)\b"
    r"|(?<!\w)(?:לא|אל|רק|בלי|ללא|חוץ|רגע|בעצם|במקום|סליחה|התכוונתי|הכוונה|ו?[הל]?(?:שני|שניה|אחר|אחרת)|[תלמ]?בטל\w*|ת?עצו?ר\w*|ת?ה?פסיק\w*|ת?עזו?ב\w*|ת?שכחו?|תשכחי|התחרט\w*|שינ\w*|ו?גם|[לת]?ה?וסיפ\w*|[לת]צרפ\w*|ש(?:ני|תי)ה[םן])(?!\w)".translate(
        _FOLDED
    )
)


_MEANT: Final = (
    r"(?:i (?:want|wanted|mean|meant|need|needed|said)|make it|get me|give me|refill|order|change (?:it )?to|switch to|take"
    r"|(?:אני )?(?:רוצה|רציתי|צריך|צריכה|מתכוון|מתכוונת)|התכוונתי|הכוונה|תזמינו?|תנפקו?|תעשו|תחליפו)"
)
_OTHER: Final = re.compile(
    rf"(?:{_MEANT} )?(?:the |my )?other (?:one|refill|{_THING})|(?:{_MEANT} )?(?:את )?(?:ה|ל)(?:שני|שניה|אחר|אחרת)"
    rf"|(?:{_MEANT} )?(?:את )?(?:ה|ל)(?:תרופה|מרשם) ה(?:שני|שניה|אחר|אחרת)".translate(_FOLDED)
)
_ADDS: Final = (
    rf"(?:(?:can|could) (?:you|i|we) )?(?:please )?(?:also )?(?:add|include) (?:also )?(?:the |my |some )?({_NAME})(?: too| as well| also)?",
    rf"(?:(?:can|could) (?:you|i|we) )?(?:also )?{_MEANT} (?:also )?(?:the |my )?({_NAME}) (?:too|as well|also)",
    rf"(?:(?:i|we) also (?:want|need|would like)|also {_MEANT}) (?:the |my )?({_NAME})",
    rf"(?:also )?(?:the |my )?({_NAME}) (?:too|as well|also)",
    rf"also (?:the |my )?({_NAME})",
    rf"(?:אפשר )?(?:גם )?(?:תוסיפו?|תוסיפי|להוסיף|הוסיפו|תצרפו|לצרף) (?:לי )?(?:גם )?(?:את )?ה?({_NAME})(?: גם)?",
    rf"ו?(?:{_MEANT} )?(?:ו?גם|ו?גם {_MEANT}) (?:את )?ה?({_NAME})",
    rf"(?:{_MEANT} )?(?:את )?ה?({_NAME}) גם(?: כן)?",
)
_BOTH: Final = re.compile(
    rf"(?:yes )?(?:{_MEANT} )?both(?: of (?:them|these|those))?(?: (?:refills|{_THING}))?(?: too| together)?"
    rf"|(?:כן )?(?:{_MEANT} )?(?:את )?ש(?:ני|תי)ה[םן](?: יחד| ביחד)?".translate(_FOLDED)
)
_TO_IT: Final = re.compile(
    r"(?: to (?:it|that|this|(?:the|my) (?:order|refill|request|list))| ל(?:זה|הזמנה|בקשה|ניפוק|רשימה))$"
)
_OF_NAME: Final = {
    "added": re.compile("|".join(_ADDS).translate(_FOLDED)),
    "only": re.compile(
        rf"(?:no |ok |wait |actually )*(?:{_MEANT} )?(?:only|just) (?:the |my )?({_NAME})|(?:the |my )?({_NAME}) only|(?:{_MEANT} )?רק (?:את )?ה?({_NAME})"
    ),
    "without": re.compile(
        rf"(?:not|without|except|minus|remove|drop|skip|leave out|take (?:out|off)|(?:i |we )?{_NOT} (?:want|need|{_ORDER})) (?:the |my )?({_NAME})"
        rf"|(?:בלי|ללא|חוץ מ?|לא|תורידו?|תורידי|להוריד|תוציאו?|לא (?:רוצה|צריך|צריכה)|אל תזמינו?)(?: את)? ?ה?({_NAME})".translate(
            _FOLDED
        )
    ),
    "named": re.compile(rf"(?:{_MEANT} )?(?:the |my |את )?ה?({_NAME})(?: one)?"),
}
_CORRECTS: Final = frozenset(
    words("no nope wait actually sorry instead rather meant mean לא רגע בעצם סליחה במקום התכוונתי הכוונה")
)
_ENDS: Final = re.compile(r"(?: (?:instead|rather|please|במקום|בבקשה|then|too late))+$")


@dataclass(frozen=True)
class CalledOff:
    """That a message calls off what was asked about; `rest` is what it says besides, "" for nothing.

    `names` are those of medicines, as written, in the clauses that call off: "cancel it, should I take X?" has none.
    `is_outright`: it says that something is not wanted, not only that the question is. `is_sweeping`: it has "all" or
    "everything" in it, which may mean more than what was asked about; `is_lasting`: "anymore" and the like.
    """

    rest: str = ""
    names: tuple[str, ...] = ()
    is_outright: bool = False
    is_sweeping: bool = False
    is_lasting: bool = False


@dataclass(frozen=True)
class Changed:
    """That a message wants other medicines than those before it in the talk, or in its own words.

    `kind` is "other" (another one, unnamed), "named" (this one instead), "only", "without", "added" (this one, too) or
    "both"; `name` is as written.
    `is_alone`: the message says nothing before it.
    """

    kind: str
    name: str = ""
    is_alone: bool = True


def changed(text: str, names: Sequence[str]) -> Changed | None:
    """Return what a message changes about the medicines of a refill, by its last clause that says more than courtesies.

    The clauses before it count for nothing: "refill metformin... no wait, the other one".
    """
    if len(text) > _LONGEST:
        return None
    clauses = [" ".join(_numbered(words(part), names)) for part in _SPLIT.split(text)]
    told = [one for one in clauses if one and not (_FILL_CLAUSE.fullmatch(one) or one in _YES)]
    if not told:
        return None
    said, is_alone = _ENDS.sub("", told[-1]), len(told) == 1
    bare = _LEADING.sub("", said)
    if _OTHER.fullmatch(bare):
        return Changed("other", is_alone=is_alone)
    if _BOTH.fullmatch(bare):
        return Changed("both", is_alone=is_alone)
    said, bare = _TO_IT.sub("", said), _TO_IT.sub("", bare)
    for kind, pattern in _OF_NAME.items():
        # "Just" and "no" may be the word that counts.
        if match := pattern.fullmatch(bare) or pattern.fullmatch(said):
            name = names[int(next(filter(None, match.groups())).removeprefix("medname"))]
            is_meant = kind != "named" or not _CORRECTS.isdisjoint(" ".join(clauses[-3:]).split())
            return Changed(kind, name, is_alone) if is_meant else None
    return None


def may_call_off(text: str) -> bool:
    """Return whether `called_off` may find something, before names are looked for in the message."""
    return len(text) <= _LONGEST and bool(_SIGN.search(" ".join(words(text))))


def called_off(text: str, names: Sequence[str] = ()) -> CalledOff | None:
    """Return what a message calls off, None when nothing; `names` of medicines in it, as written, may be what is called off."""
    if not may_call_off(text):
        return None
    parts = [part.strip() for part in _SPLIT.split(text)]
    found = [(part, " ".join(_numbered(words(part), names))) for part in parts if part]
    if not found:
        return None
    is_sweeping = any(_SWEEPING.search(said) for _part, said in found)
    is_lasting = any(_LASTING.search(said) for _part, said in found)
    outright = [said for _part, said in found if _OUTRIGHT_CLAUSE.fullmatch(said)]
    if all(_CLAUSE.fullmatch(said) or _FILL_CLAUSE.fullmatch(said) for _part, said in found):
        off = [said for _part, said in found if _CLAUSE.fullmatch(said)]
        left = ""
    else:
        off = outright
        rest = [part for part, said in found if said not in outright and not _FILL_CLAUSE.fullmatch(said)]
        left = ", ".join(rest) + ("?" if "?" in text else "")
    if not off:
        return None
    places = [int(number) for said in off for number in _PLACE.findall(said)]
    return CalledOff(left, tuple(names[place] for place in places), bool(outright), is_sweeping, is_lasting)


def _numbered(said: list[str], names: Sequence[str]) -> list[str]:
    """Return the words with one word for each of these names, by its place among them; a Hebrew article stays."""
    text = f" {' '.join(said)} "
    folded = [(" ".join(words(one)), place) for place, one in enumerate(names)]
    for name, place in sorted(folded, key=lambda one: -len(one[0])):
        bare = name.removeprefix("ה") if len(name) > 3 else name
        for written in filter(None, dict.fromkeys((name, bare))):
            text = text.replace(f" {written} ", f" medname{place} ").replace(
                f" ה{written} ", f" הmedname{place} "
            )
    return text.split()
