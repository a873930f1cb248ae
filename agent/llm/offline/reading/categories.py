"""Find the categories of products that a clause names: "pain relievers", "something for heartburn"."""

from typing import Final

from agent.llm.offline.reading.message import SHORTEST_NAME, Clause, as_written
from inventory.categories import categories_called
from inventory.models import Category, CategoryAlias
from pharmacy_site.lib.text import compact, hebrew_stems, one_typo, words

SHORTEST_MISSPELT: Final = 6  # letters of a category's name that may hold a typo


def categories_in(clause: Clause) -> list[str]:
    """Return the categories that a clause names, as it writes them, longest first."""
    spans: dict[str, tuple[int, int]] = {}
    for size in (4, 3, 2, 1):
        for start in range(len(clause.words) - size + 1):
            part = clause.words[start : start + size]
            for first in (part[0], *hebrew_stems(part[0])):
                spans.setdefault(compact(" ".join([first, *part[1:]])), (start, start + size))
    purposes = _purposes(clause)
    found = categories_called([*spans, *purposes])
    named = [span for key, span in spans.items() if key in found]
    called = [as_written(clause.text, *span) or " ".join(clause.words[slice(*span)]) for span in named]
    return called or [text for key, text in purposes.items() if key in found][:1]


def misspelt_category(clause: Clause) -> list[str]:
    """Return the right name of a category that is written with one typo."""
    written = []
    for name in clause.unknown:
        for start in {name.start, max(name.start - 1, 0)}:
            for end in {name.end, min(name.end + 1, len(clause.words))}:
                first, *rest = clause.words[start:end]
                for stem in (first, *hebrew_stems(first)):
                    name_of = " ".join([stem, *rest])
                    one = f"{name_of[:-3]}y" if name_of.endswith("ies") else name_of.removesuffix("s")
                    nouns = (
                        f"{one} medicine",
                        f"{one} relief",
                        f"תרופות {name_of}",
                    )  # "anything for alergies"
                    written += [compact(text) for text in (name_of, *nouns)]
    names = {
        str(text) for text in CategoryAlias.objects.values_list("text", flat=True)
    }  # a few hundred at most
    names |= {
        str(name) for pair in Category.objects.values_list("name_en", "name_he") for name in pair if name
    }
    return [
        name
        for name in sorted(names)
        if len(compact(name)) >= SHORTEST_MISSPELT and any(one_typo(compact(name), text) for text in written)
    ][:1]


_LOOKS: Final = frozenset(
    words(
        "white yellow pink red blue green orange small little big round"
        " הלבנימ הצהובימ הורודימ האדומימ הכחולימ הירוקימ הכתומימ הקטנימ הגדולימ העגולימ הלבנות הצהובות הורודות האדומות הכחולות הירוקות הקטנות הגדולות העגולות הלבנ הצהוב הורוד האדומ הכחול הירוק הקטנ הגדול העגול"
    )
)
"""How a product is described by who does not know its name: "the white pills for allergy"."""
_HEADS: Final = frozenset({"משהו", "כדור", "כדורימ", "תרופה", "תרופות", "טבליות", "דבר"})


def _purposes(clause: Clause) -> dict[str, str]:
    """Return what "anything for heartburn" may be called as a category: "heartburn medicine"."""
    found: dict[str, str] = {}
    if not clause.has("stock", "list") and _LOOKS.isdisjoint(clause.words):
        return found
    for place, word in enumerate(clause.words):
        before = [other for other in clause.words[:place] if other not in _LOOKS]
        if (
            word[0] == "ל"
            and len(word) > SHORTEST_NAME
            and before[-1:]
            and before[-1].removeprefix("ה") in _HEADS
        ):
            found[compact(f"תרופות {word}")] = f"תרופות {word}"
        if word == "נגד" and place + 1 < len(clause.words):
            found[compact(f"תרופות ל{clause.words[place + 1]}")] = f"תרופות ל{clause.words[place + 1]}"
        if clause.words[place + 1 : place + 2] in (["meds"], ["med"], ["drugs"], ["stuff"], ["tablets"]):
            found |= {compact(f"{word} {noun}"): f"{word} {noun}" for noun in ("medicine", "pills")}
        if word not in ("for", "against"):
            continue
        rest = [other for other in clause.words[place + 1 :] if other not in ("a", "an", "my", "the")]
        for size in (3, 2, 1):
            name = " ".join(rest[:size])
            for base in (
                name,
                name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s"),
            ):
                found |= {
                    compact(f"{base} {noun}"): f"{base} {noun}" for noun in ("medicine", "pills", "relief")
                }
    return found
