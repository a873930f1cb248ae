"""Decide whether a sentence states that something happens, or only asks about it, denies it or reports it as past. Pure."""

from typing import Final

from agent.safety.lexicon import Sentence, Span

_PERSON_REACH: Final = 5
_THING_REACH: Final = 2


def _inside(place: int, spans: frozenset[Span]) -> bool:
    return any(start <= place < end for start, end in spans)


def negated(sentence: Sentence, hit: Span) -> bool:
    """Return whether "no", "not" or "without" precedes the hit, with at most "any" or the like between."""
    ends = {hit[0]} | {start for start, end in sentence.spans("filler") if end == hit[0]}
    return any(end in ends and start < hit[0] for start, end in sentence.spans("not"))


def _followed_by(sentence: Sentence, hit: Span, concept: str) -> bool:
    return any(start == hit[1] for start, _ in sentence.spans(concept))


def _personal(sentence: Sentence, hit: Span) -> bool:
    """Return whether somebody has it: a person is named shortly before the hit, without a word like "cause" between."""
    frames = sentence.spans("frame")
    hypothetical = sentence.spans("if_")
    for start, end in sentence.spans("person"):
        if not hit[0] - _PERSON_REACH <= end <= hit[1] or _inside(start, frames):
            continue
        if any(frame_end == start for _, frame_end in frames | hypothetical):
            continue  # "if I get…", "can cause my…"
        if not any(end <= frame_start < hit[0] for frame_start, _ in frames):
            return True
    return False


def about_a_subject(sentence: Sentence, hit: Span, *, anywhere: bool) -> bool:
    """Return whether the sentence asks about the thing instead of stating that it happens.

    With `anywhere`, words that mark it as a subject count behind the hit too, otherwise only before it.
    """
    if anywhere and _followed_by(sentence, hit, "topic_after"):
        return True
    hypothetical = sentence.spans("if_")
    if any(hit[0] < start < hit[1] for start, _ in hypothetical):
        return True
    frames = sentence.spans("frame") | hypothetical
    outside = [f for f in frames if not (hit[0] <= f[0] and f[1] <= hit[1])]
    if not any(anywhere or start < hit[0] for start, _ in outside):
        return False
    return not _personal(sentence, hit)


def state(sentence: Sentence, hit: Span) -> bool:
    """Return whether a bodily state is stated: only a question before it, or a denial, rules it out."""
    return not about_a_subject(sentence, hit, anywhere=False) and not negated(sentence, hit)


def condition(sentence: Sentence, hit: Span) -> bool:
    """Return whether a symptom is stated. Leaflets name it too: a question anywhere rules it out, unless a person has it."""
    return not about_a_subject(sentence, hit, anywhere=True) and not negated(sentence, hit)


def past(sentence: Sentence) -> bool:
    """Return whether the sentence is about a time more than hours ago."""
    return sentence.has("ago") and not sentence.has("recent")


def alive(sentence: Sentence, hit: Span) -> bool:
    """Return whether a person's state is stated: an app that does not respond needs no ambulance."""
    things = [end for _, end in sentence.spans("machine") if hit[0] - _THING_REACH <= end <= hit[1]]
    people = [end for _, end in sentence.spans("person") if end <= hit[1]]
    if things and max(things) > max(people, default=0):
        return False
    return state(sentence, hit)


def current(sentence: Sentence, hit: Span) -> bool:
    """Return whether a symptom is stated of the present: people also write of those they have had."""
    return condition(sentence, hit) and not past(sentence)


def event(sentence: Sentence, hit: Span) -> bool:
    """Return whether something was done: "if", a question before it, or "did not" rules it out."""
    done = sentence.spans("took") | sentence.spans("swallowed") | sentence.spans("dosed")
    undone = any(
        end == start for _, end in sentence.spans("not") for start, _ in done if hit[0] <= start < hit[1]
    )
    return not undone and state(sentence, hit)


def stated(sentence: Sentence, hit: Span) -> bool:
    """Return whether a wish or plan is stated: it counts in any wording, unless denied or asked about as a subject."""
    if sentence.has("gripe") and not sentence.has("deadly_wish"):
        return False  # "I can't take it anymore, your site is so slow"
    return not negated(sentence, hit) and not (
        sentence.has("suicide_topic") and about_a_subject(sentence, hit, anywhere=True)
    )


def always(sentence: Sentence, hit: Span) -> bool:
    """Return True: the words alone are enough."""
    return True
