"""Word what customers read in an emergency: the number to call, and what is said while it is open."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.conf import settings

from agent.answers.answer import Answer, compose
from agent.answers.emergency_sentences import OTHER_LANGUAGES
from agent.answers.handoffs import person_offered
from agent.answers.render import say
from agent.inference.base import Reply, Turn
from agent.safety.emergency import CALL_NOW, Alarm, Emergency
from agent.safety.emergency.after import Remark
from agent.state import ConversationState, OpenEmergency
from pharmacy_site.lib.text import Language

# Where a pharmacist or a doctor helps first; the others need a call.
_PERSON_FIRST: Final[Mapping[Emergency, str]] = {
    Emergency.EXTRA_DOSE: "extra_dose",
    Emergency.ADVERSE: "adverse_reaction",
}
"""With the reason of the hand-off that is offered."""
IS_IT_OVER: Final = "is_it_over"
"""The kind of the pending question whether the emergency is over."""
_SWALLOWED: Final = frozenset({Emergency.POISONING, Emergency.EXTRA_DOSE})


def alarm_reply(turn: Turn, alarms: Sequence[Alarm], kinds: Sequence[Emergency]) -> Reply:
    """Return the answer to a message that raises these alarms: the configured numbers before anything else.

    The emergency is open from here on, with the kinds that were open before.
    """
    before = turn.state.get("emergency")
    open_kinds = {*map(str, kinds), *(before["kinds"] if before else ())}
    texts = alarm_texts(alarms, kinds, turn.language)
    opened: OpenEmergency = {"kinds": [kind for kind in Emergency if kind in open_kinds], "calm": 0}
    state: ConversationState = {**turn.state, "pending": None, "emergency": opened}
    if kinds[0] in _PERSON_FIRST:
        texts.append(say("emergency_person", turn.language))
        state["pending"] = person_offered(_PERSON_FIRST[kinds[0]])
    alarm = Answer(texts, suggestions=[say("chip_person", turn.language)])
    reply = compose([alarm], turn.language, state, fixed=True)
    # The number of what was open before stays: a milder alarm does not hide it, nor does one with another number.
    still_open = [kind for kind in opened["kinds"] if kind in CALL_NOW and kind not in kinds]
    if not CALL_NOW & {*kinds} or kinds[0] == Emergency.SELF_HARM:
        return headed(reply, still_open)
    if Emergency.SELF_HARM in still_open:
        line = _sentence("emergency_line", Emergency.SELF_HARM, turn.language)
        reply = reply.framed(after=line)
    return _with_phones(reply)


def alarm_texts(alarms: Sequence[Alarm], kinds: Sequence[Emergency], language: Language) -> list[str]:
    """Return whom to call, one paragraph for each kind; also in the language that the message was in, if it is another one."""
    texts = [_sentence("emergency", kind, language) for kind in kinds]
    others = {alarm.language for alarm in alarms if alarm.language}
    if not others:
        return texts
    second: Language = "he" if language == "en" else "en"
    own = [_other_language(other, kinds) for other in sorted(others)]
    return [*own, *texts, *(_sentence("emergency", kind, second) for kind in kinds)]


def ended_reply(turn: Turn) -> Reply:
    """Return the answer to a customer who says that it is over: ordinary questions are answered again."""
    ended = Answer(
        [say("emergency_ended", turn.language, **_numbers())],
        suggestions=[say("chip_branches", turn.language)],
    )
    state: ConversationState = {**turn.state, "pending": None, "emergency": None}
    return _with_phones(compose([ended], turn.language, state, fixed=True))


def remark_reply(turn: Turn, remark: Remark) -> Reply:
    """Return the answer to what a customer says about the open emergency: never advice."""
    kind = _first_kind(turn.state)
    if remark == "over":
        key = "emergency_after_over_SELF_HARM" if kind == Emergency.SELF_HARM else "emergency_after_over"
        asked = _while_open(turn, say(key, turn.language, number=_number(kind)), can_end=True)
        return replace(asked, state={**asked.state, "pending": {"kind": IS_IT_OVER}})
    if kind in _PERSON_FIRST and remark not in ("coming", "forget"):
        reply = _while_open(turn, say("emergency_after_person_first", turn.language), can_end=False)
        return replace(reply, state={**reply.state, "pending": person_offered(_PERSON_FIRST[kind])})
    if kind == Emergency.SELF_HARM and remark in ("fine", "wait", "vomit", "what_now"):
        remark = "alone"
    elif kind != Emergency.SELF_HARM and remark == "alone":
        remark = "what_now"
    text = say(f"emergency_after_{remark}", turn.language, number=_number(kind))
    return _while_open(turn, text, can_end=remark in ("forget", "coming"))


def held_reply(turn: Turn) -> Reply:
    """Return the answer to any other question while the emergency is open: no medicine's facts until it is over."""
    return _while_open(turn, say("emergency_held", turn.language), can_end=True)


def _while_open(turn: Turn, text: str, *, can_end: bool) -> Reply:
    state: ConversationState = {**turn.state, "pending": None}
    reply = compose([Answer([text])], turn.language, state, fixed=True)
    return with_buttons(headed(reply, _kinds(turn.state)), turn, can_end=can_end)


def headed(reply: Reply, kinds: Sequence[str]) -> Reply:
    """Return a reply whose first lines have the number of the first of these kinds, and that of a crisis among them."""
    shown = [kind for kind in kinds if kind == kinds[0] or kind == Emergency.SELF_HARM]
    lines = [_sentence("emergency_line", Emergency(kind), reply.language) for kind in shown]
    return _with_phones(reply.framed(before="\n".join(lines)))


def with_buttons(reply: Reply, turn: Turn, *, can_end: bool) -> Reply:
    """Return a reply with the button for a person first and, with `can_end`, one that says that the emergency is over."""
    chips = [say("chip_person", reply.language)]
    if can_end:
        is_crisis = Emergency.SELF_HARM in _kinds(turn.state)
        chips.append(say("emergency_chip_safe" if is_crisis else "emergency_chip_over", reply.language))
    return replace(reply, suggestions=list(dict.fromkeys([*chips, *reply.suggestions])))


def _kinds(state: ConversationState) -> Sequence[str]:
    return found["kinds"] if (found := state.get("emergency")) else [Emergency.MEDICAL]


def _first_kind(state: ConversationState) -> Emergency:
    return Emergency(_kinds(state)[0])


def _numbers() -> Mapping[str, str]:
    return {
        "medical": settings.EMERGENCY_MEDICAL,
        "crisis": settings.EMERGENCY_CRISIS,
        "poison": settings.EMERGENCY_POISON,
    }


def _number(kind: Emergency) -> str:
    """Return the number that is called first."""
    if kind == Emergency.SELF_HARM:
        return settings.EMERGENCY_CRISIS
    return (
        settings.EMERGENCY_POISON
        if kind in _SWALLOWED and settings.EMERGENCY_POISON
        else settings.EMERGENCY_MEDICAL
    )


def _sentence(key: str, kind: Emergency, language: Language) -> str:
    """Return the sentence of a kind; where something was swallowed, the one that names the poison centre first if it is set."""
    centre = "_CENTRE" if kind in _SWALLOWED and settings.EMERGENCY_POISON else ""
    return say(f"{key}_{kind.name}{centre}", language, **_numbers())


def _other_language(language: str, kinds: Sequence[Emergency]) -> str:
    """Return the number in a language that the assistant does not speak."""
    crisis = Emergency.SELF_HARM in kinds
    numbers = (
        [settings.EMERGENCY_CRISIS, settings.EMERGENCY_MEDICAL] if crisis else [settings.EMERGENCY_MEDICAL]
    )
    if _SWALLOWED.intersection(kinds) and settings.EMERGENCY_POISON:
        numbers.insert(0, settings.EMERGENCY_POISON)
    return OTHER_LANGUAGES[language].format(numbers=" / ".join(numbers))


def _with_phones(reply: Reply) -> Reply:
    """Return a reply with the numbers that its text names, in its order, to be shown as links."""
    found = [
        number
        for number in _numbers().values()
        if number and re.search(rf"\b{re.escape(number)}\b", reply.text)
    ]
    return replace(reply, phones=sorted(found, key=reply.text.index))
