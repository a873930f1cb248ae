"""Read clauses about products, stock and branches; short ones by what was asked before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import REPEATABLE, SHORT, Frame
from agent.llm.offline.reading.around_names import (
    amount_asked_of,
    asks_for_unknown_content,
    asks_what_is_in,
    is_beside,
    is_listed,
    is_name_and_place,
    is_strength,
)
from agent.llm.offline.reading.followups import leaning, medicines_meant
from agent.llm.offline.reading.intent_rules import details_of, intent_of, joins
from agent.llm.offline.reading.message import Clause, Unknown
from agent.llm.offline.reading.recognise import release_of
from agent.llm.offline.reading.references import (
    ORDINALS,
    has_topic,
    medications_of,
    place_of,
    places_asked,
    position_of,
    store_pointed,
)
from agent.state import RememberedMedication


def product_frame(
    clause: Clause, state: Mapping[str, Any], focus: list[Any], before: Sequence[Frame]
) -> Frame | None:
    """Return what a clause wants to know about products, stock or branches."""
    question = _Question(clause, state, focus, before)
    return (
        question.among_shown()
        or question.of_another_kind()
        or question.of_contents()
        or question.of_unknown_words()
        or question.corrected()
        or question.followed_up()
        or question.of_branches()
        or question.result()
    )


class _Question:
    """Reads one clause about products, stock or branches: each step returns the frame, or None to let the next step try."""

    def __init__(
        self, clause: Clause, state: Mapping[str, Any], focus: list[Any], before: Sequence[Frame]
    ) -> None:
        self.clause, self.state, self.focus, self.before = clause, state, focus, before
        self.last: Any = state.get("last") or {}
        self.shown: list[Any] = state.get("shown") or []
        # "Are Acamol and paracetamol the same?" names one product twice.
        self.medicines = medications_of(clause.medicines, distinct=not clause.has("same"))
        self.place = place_of(clause)
        self.details = details_of(clause)
        places = places_asked(clause)
        if len(places) > 1:
            self.place, self.details["places"] = places[0], places  # "in Jaffa or in Dizengoff?"
        self.pointed = store_pointed(clause, state)
        self.intent: str | None = None
        self.assumed = False
        self.about_branch = False

    def among_shown(self) -> Frame | None:
        """Read "which of them?"; otherwise set the branch that is pointed at ("the first one")."""
        if not self.medicines and len(self.shown) > 1 and self.clause.has("which_of"):
            if self.place:
                return Frame("list_at", 0.9, tuple(self.shown), self.place, details=self.details)
            if self.last.get("intent") == "list" and self.clause.has("stock", "rx", "it"):
                return Frame.recalled(self.last)
        if self.pointed:
            self.place = self.pointed
            self.details.pop("day", None)  # "הראשון" is the first one here, not Sunday
        return None

    def of_another_kind(self) -> Frame | None:
        """Read another strength or kind of the product talked about; otherwise set products named by position ("the second")."""
        clause, focus = self.clause, self.focus
        if self.medicines:
            return None
        if len(focus) == 1 and not clause.unknown:
            if is_strength(clause) and self.last.get("intent") == "stock":
                self.details |= {"strengths": [f"{clause.numbers[0]} mg"]}  # "200, then"
                return Frame("stock", 0.9, tuple(focus), details=self.details, assumed=True)
            if clause.has("extended_kind", "plain_kind") and (frame := self._kind()):
                return frame
        self._positions()
        return None

    def _kind(self) -> Frame | None:
        """Return what was asked before, of another kind of the product: "the slow-release one?"."""
        clause, focus = self.clause, self.focus
        extended = clause.has("extended_kind")
        other = release_of(str(focus[0].get("en") or ""), extended=extended)
        kept: Any = {**focus[0], "variant": "extended"} if extended else focus[0]
        asked_before = self.last.get("intent") in REPEATABLE and not has_topic(clause)
        if asked_before or has_topic(clause) or clause.has("stock"):
            self.medicines = (other or kept,)
        if not asked_before or clause.has("stock"):
            return None
        narrow = {"forms", "form_text", "strengths"}  # what the kind just named takes the place of
        again = Frame.recalled(self.last)
        asked = {key: value for key, value in again.details.items() if key not in narrow}
        return replace(again, medicines=self.medicines, details={**asked, **self.details})

    def _positions(self) -> None:
        """Set the products that are named by their place among those shown: "the second", "that one"."""
        clause, shown = self.clause, self.shown
        ordinals = [place for place, name in enumerate(ORDINALS[: len(shown)]) if clause.has(name)]
        if not self.medicines and not self.pointed and len(ordinals) == 2:
            self.medicines = tuple(
                shown[place] for place in ordinals
            )  # "is the second the same as the first?"
        if not self.medicines and shown and not self.pointed:
            position = position_of(clause, len(shown))
            if position is not None and (
                clause.has("it", "follow", "asked_about", *ORDINALS, "last", "former")
                or len(clause.words) <= 4
            ):
                self.medicines = (shown[position],)
        if not self.medicines and len(shown) == 1 and clause.has("that_one"):
            self.medicines = (shown[0],)

    def of_contents(self) -> Frame | None:
        """Read "how much paracetamol is in Acamol?", and "what is in it?"."""
        if self.place is not None:
            return None
        details = {**self.details, "ingredient": True}
        if amount_of := amount_asked_of(self.clause):
            return Frame("detail", 0.9, medications_of([amount_of]), details=details)
        if len(self.clause.medicines) == 1 and asks_what_is_in(self.clause):
            return Frame("detail", 0.9, self.medicines, details=details)
        return None

    def of_unknown_words(self) -> Frame | None:
        """Treat unexplained words as a product's name, unless the clause is about something else."""
        clause = self.clause
        self.about_branch = self._is_about_branch()
        if self._names_unknown():
            self.medicines = ({"query": clause.unknown[0].text},)
            if (
                not has_topic(clause)
                and not clause.has("stock", "follow", "it", "correction")
                and len(clause.words) > 3
                and not is_name_and_place(clause)
            ):
                # A sentence of words that nothing explains and no question that we know: no name.
                return Frame("unknown", 0.4)
        listed = [name for name in clause.unknown if is_listed(clause, name)]
        if clause.medicines and listed and not (joins(clause) or clause.has("same")):
            # "Losartan or lisinopril?": a name that we don't know is answered too.
            self.medicines = (*self.medicines, *_unlisted(listed[:2]))
        if clause.medicines and clause.unknown and (joins(clause) or clause.has("same")):
            # A name that we don't know counts as well: what can't be assessed is said, never passed over.
            beside = [name for name in clause.unknown if len(self.medicines) == 1 or is_beside(clause, name)]
            self.medicines = (*self.medicines, *_unlisted(beside[:2]))
        if len(self.medicines) == 1 and self.focus and clause.has("it") and clause.has("allergic_to"):
            self.medicines = ()  # "can it be used if you are allergic to X?" is about it
        return None

    def _is_about_branch(self) -> bool:
        clause = self.clause
        if (clause.has("phone") and not clause.has("stock")) or (
            clause.has("branches") and clause.has("hours")
        ):
            return True
        return (
            self.place is not None
            and clause.has("has_branch", "branches", "address", "hours")
            and not (clause.unknown and clause.has("stock"))
        )

    def _names_unknown(self) -> bool:
        """Return whether the unexplained words are a product's name."""
        clause, focus = self.clause, self.focus
        if self.medicines or not clause.unknown or clause.categories or self.about_branch:
            return False
        if focus and (asks_for_unknown_content(clause) or (self.place and clause.has("it"))):
            return False
        other_ways = ("stock", "interaction", "same", "equivalent", "correction", "where")
        # "does it have food restrictions?"
        return not (focus and "it" in clause.words and not clause.has(*other_ways))

    def corrected(self) -> Frame | None:
        """Find the intent, and read a correction of what was asked before: "no, in Jaffa"."""
        clause, last = self.clause, self.last
        if self.place is None and clause.has("there"):
            self.place = self.state.get("place")
        self.intent = intent_of(clause, self.medicines, self.place, self.focus)
        if not (clause.has("correction") and (self.medicines or self.place) and last):
            return None
        if self.intent not in (None, "place"):
            return None
        frame = Frame.recalled(last)
        frame = replace(frame, medicines=self.medicines or frame.medicines, place=self.place or frame.place)
        if self.place and frame.intent in ("stock", "info"):
            frame = replace(frame, intent="stock_place")
        return frame

    def followed_up(self) -> Frame | None:
        """Read what goes on from the last question: another medicine of a pair, another day or branch."""
        clause, last, told = self.clause, self.last, self.state.get("last_branch")
        leans_on_pair = clause.has("follow", "interaction") or len(clause.words) <= SHORT
        if (
            last.get("intent") == "interaction"
            and len(self.medicines) == 1
            and clause.medicines
            and leans_on_pair
            and (self.intent is None or (self.intent == "equivalent" and clause.has("follow")))
        ):
            self.intent = "interaction"  # "And with omeprazole?", "what about Acamol instead?"
        days = {"day", "tomorrow"}
        is_place_or_day = self.place or days & {*self.details}
        if told and not self.medicines and self.intent in (None, "place") and is_place_or_day:
            # "And on Saturday?", "and in Jaffa?" after opening hours.
            kept = {
                key: value
                for key, value in told["details"].items()
                if not (key in days and days & {*self.details})
            }
            details = {**kept, **self.details}
            return replace(Frame.recalled(told), place=self.place or told["place"], details=details)
        is_of_list = last.get("intent") == "list" and clause.has("list")
        if self.intent == "stock" and not self.medicines and not self.focus and is_of_list:
            return Frame.recalled(last)  # "which ones do you have?"
        follows_stock = (
            self.focus
            and not told
            and clause.has("follow")
            and last.get("intent") in ("stock", "stock_place")
        )
        if self.intent == "branch" and follows_stock and not clause.has("phone", "address"):
            self.intent = "stock_place"  # "what about the Ramat Aviv store?", "and the other branches?"
        if self.intent not in ("list", "hours", "branch", "health"):
            return None
        if self.intent != "list" and self.place is None and not clause.has("branches", "all_stores"):
            self.place = (told or last).get("place")
        return Frame(self.intent, 0.9, medicines=self.medicines, place=self.place, details=self.details)

    def of_branches(self) -> Frame | None:
        """Set the medicines that are meant but not named, and read questions about branches alone."""
        clause = self.clause
        if self.intent in ("interaction", "same") and len(self.medicines) == 1:
            named = self.medicines[0]
            self.details["others"] = [m for m in self.focus if m.get("id") != named.get("id")]
            if self.intent == "same":  # "is it the same as Losec?", which it may be
                self.medicines = (*(self.details["others"][:1] or self.focus[:1]), *self.medicines)
        if not self.medicines and not (self.about_branch and clause.unknown and not clause.has("it")):
            self._assume()
        if self.intent == "stock_place" and not self.medicines and self.place and not clause.has("it"):
            return Frame("branch", 0.9, place=self.place, details=self.details)  # "the nearest to Herzliya"
        if self.assumed and clause.has("delivery") and not clause.has("it") and not self.place:
            return Frame("branch", 0.9, details=self.details)  # "do you deliver?", whatever was talked about
        if self.intent == "stock" and not self.medicines and self.details.get("online"):
            return Frame("branch", 0.9, details=self.details)
        return None

    def _assume(self) -> None:
        """Set the medicines that the conversation is about."""
        self.medicines, self.assumed = medicines_meant(self.clause, self.state, self.focus), True
        if self.intent == "same" and len(self.medicines) == 1:
            # Of the two last talked about, or the product and its only equivalent.
            is_equivalent = len(self.shown) == 1 and self.last.get("intent") == "equivalent"
            other_one = self.shown if is_equivalent else self.state.get("earlier")
            self.medicines = (*self.medicines, *list(other_one or ())[:1])

    def result(self) -> Frame | None:
        """Return the frame of the intent that was found, or what the clause leans on without one."""
        clause, intent, details = self.clause, self.intent, self.details
        in_stock = clause.without("stock", "weak_stock")
        if intent == "stock" and clause.has("question") and self.medicines and not in_stock:
            return Frame("ask_what", 0.75, self.medicines, details=details)
        if intent is None or intent == "place":
            return leaning(
                clause,
                self.state,
                self.medicines,
                self.place,
                self.before,
                assumed=self.assumed,
                details=details,
            )
        is_of_product = clause.asks or clause.has("it", "info", "leaflet")
        if intent in ("section", "detail") and self.assumed and not self.medicines and not is_of_product:
            return Frame("unknown", 0.6)
        sections = tuple(name for name in SECTIONS if clause.has(name)) if intent == "section" else ()
        if "missed_dose" in sections:
            sections = tuple(name for name in sections if name != "dosage")  # its "dose" is the missed one
        if sections == ("use",):
            intent, sections = "info", ()  # what it is for is part of what it is (S0 flow A)
        confidence = self._confidence(intent)
        is_of_branch = self.last.get("intent") == "stock_place" and not details.get("online")
        if intent == "stock" and self.place is None and self.assumed and is_of_branch:
            self.place = self.last["place"]
        if intent == "stock" and (self.place or details.get("all_stores")):
            intent = "stock_place"
        return Frame(intent, confidence, self.medicines, self.place, sections, details, self.assumed)

    def _confidence(self, intent: str) -> float:
        clause = self.clause
        if self.medicines:
            return 0.9 if self.assumed else 0.95
        if intent == "stock" and not clause.without("stock", "weak_stock"):
            return 0.6
        if intent == "info" and not clause.without("info", "weak_info"):
            return 0.6
        return 0.6 if clause.has("greeting", "thanks") and not clause.asks else 0.8


def _unlisted(names: Sequence[Unknown]) -> list[RememberedMedication]:
    """Return unknown names as medicines that are asked about."""
    return [{"query": name.text} for name in names]
