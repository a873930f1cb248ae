"""From what a message holds to what the customer wants: frames with a confidence that code computes.

A frame is one question with its medicines, place and details filled in, from the message or from the conversation.
Below SURE the assistant asks back; below LOST it says that it has not understood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agent.llm.offline.recognise import Clause, Medicine, Message, Unknown
from pharmacy_site.lib.text import fold
from stores.places import CityPlace, PlaceMention, StorePlace

SURE: Final = 0.85
LOST: Final = 0.70

SECTIONS: Final = (
    "use", "dosage", "minimum_age", "pregnancy", "breastfeeding", "driving",
    "food_alcohol", "storage", "missed_dose", "side_effects", "warnings", "excipients",
)  # fmt: skip
DETAILS: Final = ("ingredient", "strength", "form", "pack")
# What may still be answered beside a refused request for advice: facts that no advice can hide in.
PLAIN_FACTS: Final = frozenset({"stock", "stock_place", "price", "rx", "restock", "hours", "branch", "person", "list"})
# Intents in which a lone further name ("and Nurofen?") asks the same of another medicine.
REPEATABLE: Final = frozenset(
    {"info", "section", "stock", "stock_place", "rx", "price", "insurance", "restock", "equivalent", "detail"}
)
SHORT: Final = 3  # words of a question that can only lean on what was said before
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")

Medication = Mapping[str, Any]  # {"id", "en", "he"}, or {"query"} for a name that is not resolved


@dataclass(frozen=True)
class Frame:
    """One thing the customer wants."""

    intent: str
    confidence: float
    medicines: tuple[Medication, ...] = ()
    place: Mapping[str, Any] | None = None
    sections: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    assumed: bool = False  # the medicine comes from the conversation, so the answer names it
    bare: bool = False  # a name alone, which the next clause may ask about

    def kept(self) -> dict[str, Any]:
        """The frame as the conversation's state keeps it."""
        return {
            "intent": self.intent,
            "medicines": [dict(medicine) for medicine in self.medicines],
            "place": dict(self.place) if self.place else None,
            "sections": list(self.sections),
            "details": dict(self.details),
        }

    @staticmethod
    def again(kept: Mapping[str, Any]) -> "Frame":
        """A frame from the conversation's state."""
        return Frame(
            intent=kept["intent"],
            confidence=0.95,
            medicines=tuple(kept.get("medicines", ())),
            place=kept.get("place"),
            sections=tuple(kept.get("sections", ())),
            details=kept.get("details", {}),
        )


@dataclass(frozen=True)
class Decision:
    """What to do about a message: its frames, and whether it answered what the assistant had asked."""

    frames: tuple[Frame, ...]
    answered_pending: bool = False


def decide(message: Message, state: Mapping[str, Any], *, verified: bool) -> Decision:
    """The frames of a message in the light of the conversation so far."""
    pending = state.get("pending") or {}
    if pending and (frame := _pending_answer(message, pending, state)):
        return Decision((frame,), answered_pending=True)
    if message.contacts:
        return Decision((_identity_frame(message, state),))
    frames: list[Frame] = []
    focus = list(state.get("focus", ()))
    whole = _joined(message)
    whose = any(clause.has("other_person") for clause in message.clauses)
    for clause in [whole] if whole else message.clauses:
        frame = _clause_frame(clause, state, focus, frames, verified=verified)
        if frame is None:
            continue
        if whose and frame.intent in ("prescriptions", "refill", "refill_status", "renew"):
            frame = replace(frame, details={**frame.details, "other_person": True})
        if frame.medicines:
            focus = list({medicine["id"]: medicine for medicine in frame.medicines if "id" in medicine}.values()) or focus
        if frame.intent in REPEATABLE:  # "does X need a prescription? and Y?"
            state = {**state, "last": frame.kept()}
        if frame.intent in ("hours", "branch"):
            state = {**state, "last_branch": frame.kept()}
        frames.append(frame)
    kept = _distilled(frames)
    return Decision((*kept, *_together(message, kept)))


def _together(message: Message, frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The interaction check of medicines that a message names in questions of their own: two or more always get it."""
    named = [one for clause in message.clauses for one in _medications(clause.medicines) if "id" in one]
    ids = {one["id"] for one in named}
    if len(ids) < 2 or not frames:
        return ()
    for frame in frames:
        if frame.intent in ("interaction", "same") or ids <= {medicine.get("id") for medicine in frame.medicines}:
            return ()
    return (Frame("interaction", 0.9, tuple({one["id"]: one for one in named}.values())),)


def place_kept(mention: PlaceMention) -> dict[str, Any]:
    """A place as the state keeps it: what to pass to a tool and how to call it."""
    place = mention.place
    if isinstance(place, StorePlace):
        store = place.store
        return {"query": store.name_en, "en": store.name_en, "he": store.name_he or store.name_en, "store": store.pk}
    if isinstance(place, CityPlace):
        city = place.locality
        return {"query": city.name_en, "en": city.name_en, "he": city.name_he or city.name_en, "city": city.slug}
    if place.locality is not None:
        town = place.locality
        shown = mention.text if mention.text.isupper() and mention.text.isascii() else town.name_en  # "NYC", as written
        return {"query": mention.text, "en": shown, "he": town.name_he or town.name_en, "unserved": True}
    return {"query": mention.text, "en": mention.text, "he": mention.text, "unserved": True}


# -- Answers to what the assistant asked --------------------------------------------------------------------
def _pending_answer(message: Message, pending: Mapping[str, Any], state: Mapping[str, Any]) -> Frame | None:
    """The frame that was waiting, completed by this message; None when the message is about something else."""
    clauses = message.clauses
    kind = pending["kind"]
    if kind == "identifier" and message.contacts:
        return _identity_frame(message, state)
    if not clauses:
        return None
    clause = clauses[0]
    says_yes, says_no = clause.has("yes"), clause.has("no")
    new_topic = _has_topic(clause)
    if kind == "offer_person":
        if says_yes and not clause.medicines and not says_no:
            return Frame("person", 0.95, details={"reason": pending.get("reason", "not_understood")})
        if says_no and not new_topic:
            return Frame("declined", 0.95)
        return None
    waiting = Frame.again(pending["frame"])
    if kind == "which_refill":
        if clause.has("new_prescription") or _choice(clause, 2) == 1:
            return replace(waiting, intent="renew_doctor")
        if clause.has("refill") or _choice(clause, 2) == 0:
            return replace(waiting, intent="refill_status")
        return None
    options = list(pending.get("options", ()))
    if kind == "which_prescription":
        if new_topic:
            return None
        row = _prescription_chosen(clause, options)
        if row is None and says_yes and not says_no and not clause.medicines and len(clause.words) <= 3:
            return waiting
        return replace(waiting, details={**waiting.details, "prescription": row}) if row else None
    if kind == "which_medication":
        chosen = _chosen(clause, options)
        if chosen is not None and not (new_topic and not clause.medicines):
            # Two that are looked at together keep the other one; of two candidates only the chosen one stays.
            return replace(waiting, medicines=(*_others(waiting), chosen))
        if says_yes and len(options) == 1 and not says_no:
            return replace(waiting, medicines=(*_others(waiting), options[0]))
        if clause.has("both") and len(options) <= 3 and options:
            return replace(waiting, medicines=tuple(options))
        if says_no and not clause.medicines and not new_topic and not clause.unknown:
            return Frame("declined_name", 0.95)
        if says_yes and not new_topic and not clause.medicines and len(clause.words) <= 3:
            return replace(waiting, intent="which", details={"options": options, "frame": pending["frame"]})
        if clause.medicines and not new_topic:
            return replace(waiting, medicines=_medications(clause.medicines))
        return None
    if kind == "medication" and not new_topic and (clause.medicines or clause.unknown):
        named = _medications(clause.medicines) or ({"query": clause.unknown[0].text},)
        first = waiting.medicines if waiting.intent in ("interaction", "same") else ()  # "with which other one?"
        sure = waiting.confidence if clause.medicines else 0.72
        place = _place(clause) or waiting.place
        intent = "stock_place" if place and waiting.intent in ("stock", "info") else waiting.intent
        return replace(waiting, intent=intent, medicines=(*first, *named), place=place, confidence=sure)
    if kind == "what" and not clause.medicines:
        inner = _clause_frame(clause, state, list(waiting.medicines), [], verified=False)
        if inner and inner.confidence >= SURE and inner.medicines:
            return inner
    return None


def _others(waiting: Frame) -> tuple[Medication, ...]:
    """The medicines beside the one that was asked back about: two that are looked at together stay together."""
    if waiting.intent not in ("interaction", "same"):
        return ()
    open_one = next((place for place, medicine in enumerate(waiting.medicines) if "id" not in medicine), 0)
    return (*waiting.medicines[:open_one], *waiting.medicines[open_one + 1 :])


def _has_topic(clause: Clause) -> bool:
    """Whether a clause asks a question of its own."""
    topics = (
        "where", "info", "equivalent", "price", "insurance", "restock", "prescriptions", "refill", "renew",
        "strong_person", "hours", "phone", "address", "same", "strong_interaction", "other_person", *SECTIONS,
    )  # fmt: skip
    return clause.has(*topics) or clause.without("stock", "weak_stock") or _asks_rx(clause)


def _choice(clause: Clause, size: int) -> int | None:
    """Which of `size` shown items a clause points at: by ordinal, number, "last", "former"."""
    for position, name in enumerate(_ORDINALS[:size]):
        if clause.has(name):
            return position
    if clause.has("last"):
        return size - 1
    if clause.has("former"):
        return 0
    if len(clause.numbers) == 1 and not clause.strengths and 1 <= clause.numbers[0] <= size and len(clause.words) <= 4:
        return clause.numbers[0] - 1
    return None


def _chosen(clause: Clause, options: Sequence[Medication]) -> Medication | None:
    """The option that a clause names, by position, name, strength or form."""
    position = _choice(clause, len(options))
    if position is not None:
        return options[position]
    named = {choice["id"] for medicine in clause.medicines for choice in medicine.candidates}
    fitting = [option for option in options if option["id"] in named] if named else list(options)
    if named and len(fitting) == 1:
        return fitting[0]
    for kind, values in (("strength", clause.strengths), ("form", clause.forms)):
        if values:
            narrowed = [o for o in fitting if any(same_strength(str(o.get(kind, "")), value) for value in values)]
            fitting = narrowed or fitting
    if (clause.strengths or clause.forms) and len(fitting) == 1:
        return fitting[0]
    if not clause.strengths and len(clause.numbers) == 1:
        by_number = [o for o in fitting if str(clause.numbers[0]) in str(o.get("strength", "")).split()]
        if len(by_number) == 1:
            return by_number[0]
    return None


def _prescription_chosen(clause: Clause, options: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The prescription that a clause points at, by position or by its medicine."""
    position = _choice(clause, len(options))
    if position is not None:
        return options[position]
    named = {choice["id"] for medicine in clause.medicines for choice in medicine.candidates}
    fitting = [row for row in options if row["med_id"] in named]
    return fitting[0] if len(fitting) == 1 else None


def same_strength(text: str, value: str) -> bool:
    """Whether a product's strength (or form) is the one that was written, whatever the unit's language."""
    hebrew = {"מג": "mg", "מקג": "mcg", "מל": "ml", "גרמ": "g", "מיליגרמ": "mg"}
    amount, _, unit = value.partition(" ")
    return f" {amount} {hebrew.get(unit, unit)} " in f" {text} " or value == text


def _identity_frame(message: Message, state: Mapping[str, Any]) -> Frame:
    """An e-mail address or phone number: whose prescriptions are asked for."""
    waiting = state.get("waiting")
    details = {"identifier": message.contacts[0]}
    if waiting:
        return Frame("identify", 0.95, details={**details, "waiting": waiting})
    asked = next((clause for clause in message.clauses if clause.has("refill", "refill_status")), None)
    medicines = _medications(asked.medicines) if asked else ()
    inner = Frame("refill_status" if asked else "prescriptions", 0.9, medicines=medicines)
    return Frame("identify", 0.9, details={**details, "waiting": inner.kept()})


# -- One clause ---------------------------------------------------------------------------------------------
def _joined(message: Message) -> Clause | None:
    """A message whose medicines belong together although a stop stands between ("Warfarin. And ibuprofen. Together?")."""
    clauses = message.clauses
    asks_stock = any(clause.has("stock", "where", "price") for clause in clauses)
    if len(clauses) > 1 and any(clause.has("strong_interaction") or (clause.has("taking") and not asks_stock) for clause in clauses):
        named = [medicine for clause in clauses for medicine in clause.medicines]
        if len(named) >= 2 and all(len(clause.medicines) < 2 for clause in clauses):
            main = next(clause for clause in clauses if clause.has("strong_interaction", "taking"))
            return replace(main, medicines=named)
    return None


def _medications(medicines: Sequence[Medicine], *, distinct: bool = True) -> tuple[Medication, ...]:
    """The products that mentions stand for; one that may be several keeps its query and candidates."""
    found: list[Medication] = []
    for medicine in medicines:
        one: Medication
        if not medicine.candidates:
            one = {"query": medicine.text}
        elif len(medicine.candidates) == 1:
            one = {**medicine.candidates[0], "said": medicine.text}
        else:
            one = {"query": medicine.text, "candidates": [dict(option) for option in medicine.candidates]}
        if not distinct or one.get("id") is None or all(one["id"] != other.get("id") for other in found):
            found.append(one)
    return tuple(found)


def _place(clause: Clause) -> dict[str, Any] | None:
    return place_kept(clause.places[0]) if clause.places else None


def _asks_rx(clause: Clause) -> bool:
    """Whether a clause asks if a prescription is needed (and does not just mention one)."""
    spans = clause.cues.spans("rx")
    longer = any(end - start > 1 for start, end in spans)
    words = {clause.words[start] for start, end in spans if end - start == 1}
    wanted = clause.without("stock", "weak_stock") or clause.has("my", "prescriptions", "refill")
    return longer or bool(words & {"otc"}) or (bool(spans) and not wanted)


def _clause_frame(
    clause: Clause,
    state: Mapping[str, Any],
    focus: list[Any],
    before: Sequence[Frame],
    *,
    verified: bool,
) -> Frame | None:
    patient = _patient_frame(clause, state)
    if patient:
        return patient
    talk = _talk_frame(clause, state)
    if talk:
        return talk
    return _product_frame(clause, state, focus, before)


def _patient_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """Prescriptions, refills, and the proof of who asks."""
    if clause.has("strong_person") and not clause.medicines:
        return None  # "talk to someone about my refill"
    medicines = _medications(clause.medicines)
    other = clause.has("other_person")
    details = {"other_person": True} if other else {}
    if clause.has("logout"):
        return Frame("logout", 0.95)
    if clause.has("resend") and (clause.has("code_word") or state.get("waiting") or state.get("identifier_asked")):
        return Frame("resend", 0.95)
    if clause.has("renew"):
        return Frame("renew", 0.95, medicines=medicines, details=details)
    if clause.has("refill"):
        position = _choice(clause, 9)
        shown = state.get("prescriptions") or []
        if position is not None and position < len(shown) and not medicines:
            details = {**details, "prescription": shown[position]}
        numbered = [number for number in clause.numbers if number in {row["id"] for row in shown}]
        if not medicines and "prescription" not in details and numbered:
            details = {**details, "prescription": next(row for row in shown if row["id"] == numbered[0])}
        asks = clause.has("refill_status") or (clause.asks and not clause.has("weak_stock"))
        return Frame("refill_status" if asks else "refill", 0.95, medicines=medicines, details=details)
    mine = (clause.has("prescriptions") and len(medicines) < 2) or (clause.has("my") and clause.has("rx_word"))
    if mine and not (medicines and _asks_rx(clause) and not clause.has("my", "prescriptions")):
        return Frame("prescriptions", 0.95, details=details)
    if clause.has("rx_plural") and len(clause.words) <= 2 and not medicines:
        return Frame("prescriptions", 0.9)
    if other and clause.has("rx_word", "prescriptions"):
        return Frame("prescriptions", 0.9, details=details)
    asked_before = state.get("intent") in ("prescriptions", "refill_status", "refill")
    if medicines and asked_before and clause.has("follow", "my") and not _has_topic(clause) and not clause.has("stock"):
        return Frame("refill_status", 0.9, medicines=medicines, details=details)  # "and the metformin?"
    shown = state.get("prescriptions") or []
    position = _choice(clause, len(shown)) if shown and state.get("intent") in ("prescriptions", "refill_status") else None
    if position is not None and not medicines:
        return Frame("refill_status", 0.9, details={"prescription": shown[position]})
    return None


def _talk_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """What is about the talk itself."""
    named = clause.medicines or clause.places or clause.categories
    if clause.has("english_please"):
        return Frame("language", 0.95, details={"language": "en"})
    if clause.has("hebrew_please"):
        return Frame("language", 0.95, details={"language": "he"})
    if clause.has("who"):
        return Frame("who", 0.95)
    if clause.has("strong_person") and not clause.medicines:
        return Frame("person", 0.95, details={"reason": "customer_asked"})
    if clause.has("outside") and not clause.medicines and not clause.categories and not clause.has("it"):
        return Frame("out_of_scope", 0.9)
    topic = _has_topic(clause) or clause.has("stock", "follow") or (clause.asks and clause.has("it"))
    if clause.has("catalogue") and not named:
        return Frame("help", 0.9)
    if not named and not topic and clause.has("thanks", "bye") and not clause.asks:
        return Frame("bye" if clause.has("bye") else "thanks", 0.95)  # whatever else is said in it
    if named or (clause.unknown and (topic or not clause.has("thanks", "bye", "upset", "cancel"))):
        return None
    if (clause.has("person") and not clause.has("stock", "hours", *SECTIONS)) or (
        clause.has("person") and len(clause.words) <= 5 and not clause.has("hours", *SECTIONS)
    ):
        return Frame("person", 0.9, details={"reason": "customer_asked"})
    if clause.has("upset") and not topic:
        return Frame("upset", 0.9)
    if clause.has("cancel") and not topic:
        return Frame("cancelled", 0.95)
    if clause.has("greeting") and not topic:
        return Frame("greeting", 0.95)
    if clause.has("bye") and not topic:
        return Frame("bye", 0.95)
    if clause.has("thanks") and not topic:
        return Frame("thanks", 0.95)
    if clause.has("help") and not _has_topic(clause):
        return Frame("help", 0.95)
    return None


def _product_frame(
    clause: Clause, state: Mapping[str, Any], focus: list[Any], before: Sequence[Frame]
) -> Frame | None:
    """Questions about products, stock and branches."""
    # "Are Acamol and paracetamol the same?" names one product twice.
    medicines = _medications(clause.medicines, distinct=not clause.has("same"))
    place = _place(clause)
    last = state.get("last") or {}
    details = _details(clause)
    if len({mention.text for mention in clause.places}) > 1 and (medicines or focus) and "store" in (place or {}):
        place, details["all_stores"] = None, True  # "in Jaffa or in Dizengoff?"
    shown = state.get("shown") or []

    if not medicines and shown:
        position = _choice(clause, len(shown))
        if position is not None and (clause.has("it", "follow", "asked_about", *_ORDINALS, "last", "former") or len(clause.words) <= 4):
            medicines = (shown[position],)
    inside = focus and clause.has("ingredient", "excipients")  # "is there lactose in it?": no name of a product
    if not medicines and len(shown) == 1 and clause.has("that_one"):
        medicines = (shown[0],)
    if len(clause.medicines) == 1 and place is None and _within(clause):
        return Frame("detail", 0.9, medicines, details={**details, "ingredient": True})
    asks_phone = clause.has("phone") and not clause.has("stock")
    about_branch = asks_phone or (place is not None and clause.has("has_branch", "branches", "address", "hours"))
    other_ways = ("stock", "interaction", "same", "equivalent", "correction", "where")
    about_it = bool(focus) and "it" in clause.words and not clause.has(*other_ways)  # "does it have food restrictions?"
    if not medicines and clause.unknown and not clause.categories and not (place and focus) and not about_branch and not inside and not about_it:
        medicines = ({"query": clause.unknown[0].text},)
        if not _has_topic(clause) and not clause.has("stock", "follow", "it", "correction") and len(clause.words) > 3:
            # A sentence of words that nothing explains and no question that we know: no name.
            return Frame("unknown", 0.4)
    listed = [name for name in clause.unknown if _listed_with(clause, name)]
    if clause.medicines and listed and not (_joins(clause) or clause.has("same")):
        # "Losartan or lisinopril?": a name that we don't know is answered too.
        medicines = (*medicines, *({"query": name.text} for name in listed[:2]))
    if clause.medicines and clause.unknown and (_joins(clause) or clause.has("same")):
        # A name that we don't know counts as well: what can't be assessed is said, never passed over.
        beside = [name for name in clause.unknown if len(medicines) == 1 or _beside(clause, name)]
        medicines = (*medicines, *({"query": name.text} for name in beside[:2]))
    if len(medicines) == 1 and focus and clause.has("it") and clause.has("allergic_to"):
        medicines = ()  # "can it be used if you are allergic to X?" is about it
    if place is None and clause.has("there"):
        place = state.get("place")
    intent = _intent(clause, medicines, place, focus)
    if clause.has("correction") and (medicines or place) and last and intent in (None, "place"):
        frame = Frame.again(last)
        frame = replace(frame, medicines=medicines or frame.medicines, place=place or frame.place)
        if place and frame.intent in ("stock", "info"):
            frame = replace(frame, intent="stock_place")
        return frame
    told = state.get("last_branch")
    leans_on_pair = clause.has("follow", "interaction") or len(clause.words) <= SHORT
    if last.get("intent") == "interaction" and len(medicines) == 1 and clause.medicines and leans_on_pair:
        intent = "interaction" if intent is None else intent  # "and with omeprazole?"
    if told and not medicines and intent in (None, "place") and (place or any(d in details for d in ("day", "tomorrow"))):
        # "And on Saturday?", "and in Jaffa?" after opening hours.
        return replace(Frame.again(told), place=place or told["place"], details={**told["details"], **details})
    if intent == "stock" and not medicines and not focus and last.get("intent") == "list" and clause.has("list"):
        return Frame.again(last)  # "which ones do you have?"
    follows_stock = focus and not told and clause.has("follow") and last.get("intent") in ("stock", "stock_place")
    if intent == "branch" and follows_stock and not clause.has("phone", "address"):
        intent = "stock_place"  # "what about the Ramat Aviv store?", "and the other branches?"
    if intent in ("list", "hours", "branch", "health"):
        if intent != "list" and place is None and not clause.has("branches", "all_stores"):
            place = (told or last).get("place")
        return Frame(intent, 0.9, medicines=medicines, place=place, details=details)
    if intent in ("interaction", "same") and len(medicines) == 1:
        details["others"] = [m for m in focus if m.get("id") != medicines[0].get("id")]
        if intent == "same":  # "is it the same as Losec?", which it may be
            medicines = (*(details["others"][:1] or focus[:1]), *medicines)
    assumed = False
    if not medicines:
        medicines, assumed = _from_talk(clause, state, focus), True
    if intent == "stock_place" and not medicines and place and not clause.has("it"):
        return Frame("branch", 0.9, place=place, details=details)  # "the nearest to Herzliya"
    if intent == "stock" and not medicines and details.get("online"):
        return Frame("branch", 0.9, details=details)
    if intent == "stock" and clause.has("question") and medicines and not clause.without("stock", "weak_stock"):
        return Frame("ask_what", 0.75, medicines, details=details)
    if intent is None or intent == "place":
        return _leaning(clause, state, medicines, place, before, assumed=assumed, details=details)
    if intent in ("section", "detail") and assumed and not medicines and not clause.asks and not clause.has("it", "info", "leaflet"):
        return Frame("unknown", 0.6)
    sections = tuple(name for name in SECTIONS if clause.has(name)) if intent == "section" else ()
    if "missed_dose" in sections:
        sections = tuple(name for name in sections if name != "dosage")  # its "dose" is the missed one
    if sections == ("use",):
        intent, sections = "info", ()  # what it is for is part of what it is (S0 flow A)
    confidence = 0.95 if medicines and not assumed else 0.9
    if not medicines:
        confidence = 0.8 if not (clause.has("greeting", "thanks") and not clause.asks) else 0.6
        if intent == "stock" and not clause.without("stock", "weak_stock"):
            confidence = 0.6
        if intent == "info" and not clause.without("info", "weak_info"):
            confidence = 0.6
    if intent == "stock" and place is None and assumed and last.get("intent") == "stock_place" and not details.get("online"):
        place = last["place"]
    if intent == "stock" and (place or details.get("all_stores")):
        intent = "stock_place"
    return Frame(intent, confidence, medicines, place, sections, details, assumed)


def _joins(clause: Clause) -> bool:
    """Whether a "with" stands for itself and is no piece of "what about" (ומה עם)."""
    follow = clause.cues.spans("follow")
    return any(all(not (a <= start and end <= b) for a, b in follow) for start, end in clause.cues.spans("interaction"))


def _within(clause: Clause) -> bool:
    """Whether it is asked what is in a product ("יש באוגמנטין פניצילין?"): "there is" right before "in" and its name."""
    medicine = clause.medicines[0]
    return (
        medicine.start > 0
        and clause.words[medicine.start] == f"ב{fold(medicine.text)}"
        and clause.words[medicine.start - 1].removeprefix("ש") == "יש"
        and not clause.has(*SECTIONS)
    )


def _listed_with(clause: Clause, name: Unknown) -> bool:
    """Whether an unknown name is listed with a known one: "A or B", "A and B"."""
    for medicine in clause.medicines:
        first, second = (name, medicine) if name.start < medicine.start else (medicine, name)
        between = clause.words[first.end : second.start]
        joined = not between and clause.words[second.start].startswith("ו") and len(clause.words[second.start]) > SHORT
        if joined or between in (["או"], ["or"], ["and"], ["וגמ"]):
            return True
    return False


def _beside(clause: Clause, name: Unknown) -> bool:
    """Whether an unknown name stands next to a known one, with at most one word between."""
    return any(name.start - m.end in (0, 1) or m.start - name.end in (0, 1) for m in clause.medicines)


def _intent(
    clause: Clause, medicines: Sequence[Medication], place: Mapping[str, Any] | None, focus: Sequence[Medication]
) -> str | None:
    """What the cues of a clause ask for, most particular first."""
    several = len(medicines) >= 2
    strong_stock = clause.without("stock", "weak_stock")
    if several and clause.has("price"):
        return "price"
    if clause.has("same") and (several or (clause.has("it", "both") and not clause.has("equivalent"))) and not clause.has("where"):
        return "same"
    if several and clause.has("strong_interaction", "interaction") and not strong_stock:
        return "interaction"
    if several and clause.has("taking") and not strong_stock and not clause.has(*SECTIONS):
        return "interaction"
    if clause.has("strong_interaction") and not strong_stock and not clause.has("food_alcohol"):
        return "interaction"
    if clause.has("interaction") and len(medicines) == 1 and not (strong_stock or place or clause.has("equivalent", *SECTIONS)):
        # "Can it be taken with X?"; without "it" when a medicine is being talked about.
        talked_about = clause.has("it", "both") or (focus and not clause.has("stock"))
        if _joins(clause) and talked_about:
            return "interaction"
    if clause.has("insurance"):
        return "insurance"
    if (clause.has("price") and not (clause.has("rx") and clause.has("pays"))) or (clause.has("how_much") and len(clause.words) <= 4 and not clause.has("dosage", *SECTIONS)):
        return "price"
    if several and clause.has("cheaper"):
        return "price"
    if clause.has("restock"):
        return "restock"
    if clause.has("equivalent") and not clause.categories:
        return "equivalent"
    if not medicines and clause.has("hours") and not (strong_stock and focus):
        return "hours"
    if not medicines and not clause.has("it") and clause.has("phone", "address", "has_branch"):
        return "branch"
    if clause.has("disease") and not medicines and not strong_stock:
        return "health"
    about_leaflet = [name for name in SECTIONS[1:] if name != "minimum_age"]  # "a fever medicine for children" is a list
    if clause.categories and not medicines and not clause.has(*about_leaflet):
        return "list"
    if _asks_rx(clause):
        return "rx"
    if clause.has(*SECTIONS) and not (strong_stock and not clause.has("leaflet", "info", *SECTIONS[3:])):
        return "section"
    if clause.has("ingredient", "pack") or (clause.has("strength", "form") and not strong_stock):
        return "detail"
    leans = place is not None and bool(focus) and not clause.has("list", "info")  # "and at your Dizengoff branch?"
    if focus and not medicines and clause.has("which_branch") and not clause.has("has_branch", "phone", "address", "hours"):
        return "stock_place"  # "and at which branch?" of the medicine talked about
    if (not medicines and clause.has("branches") and not leans and not clause.has("it", "stock", "online")) or (
        not medicines and clause.has("branches") and clause.has("list") and not clause.has("it")
    ):
        return "branch"
    if clause.has("where", "all_stores", "here"):
        return "stock_place"
    if strong_stock:
        return "stock"
    if clause.has("online", "reserve") and not clause.has("info"):
        return "stock"
    if clause.has("health") and not medicines:
        return "health"
    if clause.without("info", "weak_info") or clause.has("leaflet") or (
        clause.has("info") and not clause.has("follow", "asked_about", "earlier_one")
    ):
        return "info"
    if clause.has("stock", "reserve") and medicines:
        return "stock"
    if place:
        return "place"
    if clause.has("stock") and (clause.has("it") or (focus and len(clause.words) <= SHORT)):
        return "stock"
    return None


def _details(clause: Clause) -> dict[str, Any]:
    """What narrows a question: strength, form, near me, all stores, open now, online, a day."""
    details: dict[str, Any] = {}
    if clause.strengths:
        details["strengths"] = clause.strengths
    if clause.forms:
        details["forms"] = clause.forms
        details["form_text"] = clause.form_text
    if clause.categories:
        details["category"] = clause.categories[0]
    for name in ("here", "all_stores", "online", "tomorrow", "reserve", "ingredient", "pack", "phone", "address", "leaflet"):
        if clause.has(name):
            details[name] = True
    if clause.has("each_of"):
        details["each"] = True
    if clause.has("hours"):
        details["open"] = True
    day = next((d for d in ("sun", "mon", "tue", "wed", "thu", "fri", "sat") if clause.has(d)), None)
    if day:
        details["day"] = day
    details["text"] = clause.text
    return details


def _from_talk(clause: Clause, state: Mapping[str, Any], focus: list[Any]) -> tuple[Medication, ...]:
    """The medicines a clause without a name is about: those last talked about."""
    if clause.has("earlier_one"):
        return tuple(state.get("earlier") or focus)[:1]
    if clause.has("both") and len(focus) == 1:
        return tuple([*focus, *state.get("earlier", ())][:2])
    return tuple(focus[:1] if clause.has("asked_about") else focus)


def _leaning(
    clause: Clause,
    state: Mapping[str, Any],
    medicines: tuple[Medication, ...],
    place: Mapping[str, Any] | None,
    before: Sequence[Frame],
    *,
    assumed: bool,
    details: Mapping[str, Any],
) -> Frame | None:
    """A clause without a question of its own: a bare name or place, leaning on what was asked before."""
    last = state.get("last") or {}
    if before and not clause.medicines and not clause.unknown and not place:
        return None  # a remark beside a question that is being answered
    if place:
        if medicines and (assumed or clause.medicines):
            return Frame("stock_place", 0.9, medicines, place, details=details, assumed=assumed)
        return Frame("branch", 0.86, place=place, details=details)
    if medicines and not assumed:
        intent = last.get("intent")
        follows = clause.has("follow", "correction")
        if state.get("intent") in ("refill_status", "refill") and (follows or len(clause.words) <= SHORT):
            return Frame("refill_status", 0.9, medicines)  # "and the metformin?"
        told = state.get("last_branch") or {}
        if told.get("intent") == "branch" and told.get("place") and clause.medicines:
            return Frame("stock_place", 0.88, medicines, told["place"], details=details)
        if intent in REPEATABLE and (follows or len(clause.words) <= 5):
            again = Frame.again(last)
            # A bare word that is no known name may as well be nonsense.
            sure = 0.9 if follows or clause.medicines or not clause.unknown else 0.72
            details = {**again.details, **details}
            return replace(again, medicines=medicines, confidence=sure, details=details, bare=not follows)
        narrowed = details.get("strengths") or details.get("forms")
        if len(medicines) >= 2:
            return Frame("interaction" if clause.has("interaction") else "info", 0.86, medicines, details=details, bare=True)
        if all("query" in medicine and "candidates" not in medicine for medicine in medicines):
            return Frame("info", 0.86 if clause.has("follow") else 0.72, medicines, details=details)
        return Frame("stock" if narrowed else "info", 0.87, medicines, details=details, bare=True)
    if clause.has("yes", "no") and len(clause.words) <= 3:
        return Frame("nothing_asked", 0.75)
    if clause.forms and medicines and assumed:
        return Frame("stock", 0.86, medicines, details=details, assumed=True)
    if clause.has("asked_about", "earlier_one") and medicines and last.get("intent") in REPEATABLE:
        return replace(Frame.again(last), medicines=medicines, confidence=0.9, assumed=True)
    if clause.has("it", "follow") and medicines and clause.asks and len(clause.words) <= 6:
        return Frame("ask_what", 0.75, medicines, details=details, assumed=True)
    return Frame("unknown", 0.4)


def _question(frame: Frame) -> tuple[object, ...]:
    ids = [medicine.get("id") or medicine.get("query") for medicine in frame.medicines]
    return frame.intent, ids, frame.place, frame.sections


def _answers_where(kept: Sequence[Frame], frame: Frame) -> bool:
    ids = [medicine.get("id") for medicine in frame.medicines]
    return any(k.intent in ("stock", "stock_place") and [m.get("id") for m in k.medicines] == ids for k in kept)


def _distilled(frames: Sequence[Frame]) -> list[Frame]:
    """Greetings and remarks fall away beside a real question; the same question twice is one."""
    courtesies = {"greeting", "thanks", "bye", "unknown", "help", "cancelled", "nothing_asked"}
    real = [frame for frame in frames if frame.intent not in courtesies and frame.confidence >= LOST]
    real = [frame for frame in real if frame.confidence >= SURE] or real
    if any(frame.intent in ("prescriptions", "refill", "refill_status") for frame in real):
        real = [frame for frame in real if frame.intent != "branch" or frame.place]  # "…can I use my phone?"
    kept: list[Frame] = []
    stocked = [frame.medicines for frame in real if frame.intent == "stock"]
    # What is out of stock is said with its restock date already.
    real = [frame for frame in real if not (frame.intent == "restock" and frame.medicines in stocked)]
    for place, frame in enumerate(real or frames[:1]):
        if frame.bare and any(later.assumed for later in real[place + 1 :]):
            continue  # "I take warfarin, is it kept in the fridge?"
        if frame.assumed and frame.intent == "stock_place" and not frame.place and _answers_where(kept, frame):
            continue  # "…in Jaffa? if not, where?": the branches are listed anyway
        same = next((n for n, other in enumerate(kept) if other.intent == frame.intent == "stock"), None)
        if same is not None and not kept[same].details.get("strengths") and not frame.details.get("strengths"):
            # One plan looks at them together, within the steps that a turn has.
            merged = {one.get("id") or one.get("query"): one for one in (*kept[same].medicines, *frame.medicines)}
            kept[same] = replace(kept[same], medicines=tuple(merged.values()))
        elif all(_question(frame) != _question(other) for other in kept):
            kept.append(frame)
    return kept[:3]
