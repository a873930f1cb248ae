"""Answer a health question outside the chat, for systems and staff: the chat's checks of a message first, then the flow."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from agent.answers.connecting_sentences import sentence_named
from agent.answers.emergencies import alarm_texts
from agent.answers.render import say
from agent.knowledge.answer import KnowledgeAnswer, Status
from agent.knowledge.flow.ask import knowledge_ask
from agent.knowledge.general import is_answered_in_general
from agent.knowledge.roles import PROFESSIONAL
from agent.safety import emergency
from agent.safety.policy import InputVerdict, check_input
from pharmacy_site.lib.text import Language, as_language


class Stopped(StrEnum):
    """Why a question was not looked up; beside the `Status` of those that were."""

    EMERGENCY = "emergency"
    REFUSED = "refused"


# None of them offers to pass the customer on: nobody is there who could answer yes.
_REFUSALS: Final = {InputVerdict.DOSE_FOR_PERSON: "refuse_dose", InputVerdict.PUSH: "refuse_push"}
_SAID: Final = {Status.NOTHING: "knowledge_nothing", Status.UNAVAILABLE: "knowledge_unavailable"}


@dataclass(frozen=True)
class Asked:
    """What became of a question: `alarm` (whom to call) and `said` are sentences of ours, shown before the quotes of `answer`."""

    status: Stopped | Status
    alarm: str = ""
    said: str = ""
    answer: KnowledgeAnswer = field(default_factory=lambda: KnowledgeAnswer(Status.NOTHING))

    @property
    def text(self) -> str:
        """All that is said, and the stored answers word for word, as paragraphs."""
        parts = (self.alarm, self.said, *(quote.text for quote in self.answer.quotes))
        return "\n\n".join(filter(None, parts))


def question_ask(
    question: str, *, role: str, language: str, words: Language | None = None, is_preview: bool = False
) -> Asked:
    """Ask a role's collection, unless the question is an emergency or a request for advice.

    Role and language are chosen by the caller, never by the question's text. Clinicians ask about other people: in a
    professional role an emergency's number comes before the stored answers and not in place of them, and "should I" is
    no request for advice about the person who asks. Our own sentences are in `words`, by default in
    Hebrew for Hebrew, else in English. What finds nothing is noted for staff, unless it is a preview of theirs. It blocks,
    with a language model for seconds.
    """
    # Not above: a command that only checks the site need not load the reading of messages.
    from agent.llm.knowledge import knowledge_model, small_talk

    words = words or as_language(language)
    alarms = emergency.alarms(question)
    alarm = "\n\n".join(alarm_texts(alarms, emergency.kinds_of(alarms), words)) if alarms else ""
    if role not in PROFESSIONAL:
        if alarm:
            return Asked(Stopped.EMERGENCY, alarm)
        if refusal := _refusal(question, role, language, words):
            return Asked(Stopped.REFUSED, said=refusal)
    with knowledge_model() as model:
        answer = knowledge_ask(
            question,
            role=role,
            language=language,
            model=model,
            small_talk=small_talk,
            note_unanswered=not is_preview,
        )
    # A suggestion that would be taken for an emergency when it is asked is none.
    suggestions = tuple(text for text in answer.suggestions if not emergency.alarms(text))
    answer = replace(answer, suggestions=suggestions)
    ready = answer.direct or ("" if answer.is_sure else "closest_knowledge")
    said = sentence_named(ready, words) if ready else ""
    if key := _SAID.get(answer.status):
        said = say(key, words)
    return Asked(answer.status, alarm, said, answer)


def _refusal(question: str, role: str, language: str, words: Language) -> str:
    """Return how a request for advice is declined, "" for a question that is answered.

    A published question is answered whatever its words are: its answer was reviewed, and it may be a suggestion of ours. So is a
    general question that an entry covers.
    """
    verdict = check_input(question)
    if verdict == InputVerdict.ANSWER:
        return ""
    if is_answered_in_general(question, role, language=language):
        return ""
    return say(_REFUSALS.get(verdict, "refuse_3"), words)
