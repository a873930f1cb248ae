"""Let a language model play the customer, limited to the scenario's facts.

The model gets what the customer wants and knows, and writes the customer's messages. It writes in brackets what a person
would do otherwise than by typing: [code], [person], [yes], [no], [done]. A message with a contact, a medicine or a number
that is neither among the facts nor in an answer of the assistant spoils the trial.
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from agent.threads import run_db
from evaluation.chat import Answer, Chat, text_message
from evaluation.customer import Spoilt, demo_code
from evaluation.players import stage_set
from evaluation.scenario import Scenario
from evaluation.wording import folded
from inventory.models import IngredientAlias, Medication, MedicationAlias
from pharmacy_site.lib.vocabulary import EMAIL

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

EXTRA_TURNS: Final = 4
"""More turns than the script has, for questions that the assistant asks back."""
_CONTACT: Final = re.compile(rf"{EMAIL.pattern}|\+?\d[\d -]{{7,}}\d")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?")
# Allowed without being a fact: "the 2nd one".
_SMALL: Final = frozenset("1 2 3 4 5".split())
_ACT: Final = re.compile(r"\[(code|person|yes|no|done)\]", re.IGNORECASE)
_RULES: Final = """You play a customer who writes to a pharmacy's chat assistant. Write only the customer's next message, in {language}.
What you want, in this order: {wants}
What you know: {knows}
Use nothing else: no other name, contact, medicine, number or symptom. When you are asked for what you do not know, say so.
Instead of a message you can write exactly one of: [code] to enter the code that was sent to you, [yes] or [no] to answer a
question with buttons, [person] to press the button for a person, [done] when you have what you wanted."""


class SimulatedCustomer:
    """A customer played by the model that the OPENAI_ settings name."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._facts = [*scenario.knows, *(turn.say for turn in scenario.turns if turn.say)]
        from agent.inference.openai import client_open  # it loads slowly, and a scripted customer needs none

        self._model = _setting("OPENAI_MODEL") or "gpt-4.1-mini"
        client = client_open(_setting("OPENAI_API_KEY"), _setting("OPENAI_BASE_URL"), settings.OPENAI_TIMEOUT)
        self._client = client.with_options(max_retries=2)

    async def talk(self, chat: Chat, site_url: str) -> list[Answer]:
        """Talk until the model is done, and return each answer. Raises Spoilt."""
        answers: list[Answer] = []
        prompt: list[ChatCompletionMessageParam] = [{"role": "system", "content": self._rules()}]
        prompt.append({"role": "user", "content": "The chat is open. What do you write?"})
        codes_typed, confirm_id = 0, ""
        async with self._client:
            for _ in range(len(self._scenario.turns) + EXTRA_TURNS):
                text = await self._next(prompt)
                act = match[1].lower() if (match := _ACT.search(text)) else ""
                if act == "done":
                    break
                if not act:
                    await run_db(facts_check)(text, [*self._facts, *(answer.text for answer in answers)])
                stage_set(
                    self._scenario, self._scenario.turns[min(len(answers), len(self._scenario.turns) - 1)]
                )
                if act == "code":
                    code = await demo_code(site_url, chat.secret, seen=codes_typed, seconds=0.2)
                    codes_typed += bool(code)
                    text = code or text
                answers.append(await chat.ask(self._message(act, text, confirm_id)))
                confirm_id = answers[-1].confirm_id
                prompt.append({"role": "assistant", "content": text if act != "code" else "[code]"})
                prompt.append({"role": "user", "content": answers[-1].text or "(no answer)"})
        return answers

    def _rules(self) -> str:
        scenario = self._scenario
        wants = scenario.wants or " ".join(f"({n}) {wish}" for n, wish in enumerate(self._wishes(), 1))
        knows = "; ".join(scenario.knows) or "what stands above"
        language = "Hebrew" if scenario.lang == "he" else "English"
        return _RULES.format(language=language, wants=wants, knows=knows)

    def _wishes(self) -> list[str]:
        named = {"code": "[code]", "person": "[person]"}
        return [
            turn.say
            or (named["person"] if turn.person else f"[{turn.confirm}]" if turn.confirm else named["code"])
            for turn in self._scenario.turns
        ]

    async def _next(self, prompt: "list[ChatCompletionMessageParam]") -> str:
        answer = await self._client.chat.completions.create(model=self._model, messages=prompt)
        text = answer.choices[0].message.content or ""
        if not text.strip():
            raise Spoilt("the customer wrote nothing")
        return text.strip()

    def _message(self, act: str, text: str, confirm_id: str) -> dict[str, Any]:
        if act == "person":
            return {"type": "handoff.request"}
        if act in ("yes", "no") and confirm_id:
            return {"type": "confirm.answer", "confirm_id": confirm_id, "decision": act}
        return text_message(self._scenario, act if act in ("yes", "no") else text)


def facts_check(text: str, facts: Iterable[str]) -> None:
    """Raise Spoilt if a message contains a contact, a medicine or a number that is in none of the facts."""
    known = folded("\n".join(facts))
    stated = folded(text)
    for contact in _CONTACT.findall(stated):
        if _bare(contact) not in _bare(known):
            raise Spoilt("a contact that nobody told the customer")
    known_numbers = set(_NUMBER.findall(known)) | _SMALL
    if set(_NUMBER.findall(_CONTACT.sub(" ", stated))) - known_numbers:
        raise Spoilt("a number that nobody told the customer")
    for name in _medicines():
        if name in stated and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", stated) and name not in known:
            raise Spoilt("a medicine that nobody told the customer")


def _bare(text: str) -> str:
    return re.sub(r"[\s+-]", "", text)


@cache
def _medicines() -> tuple[str, ...]:
    """Return every name of a medicine; cached, since the demo data are the same in every trial."""
    named = [name for pair in Medication.objects.values_list("name_en", "name_he") for name in pair if name]
    also = [*MedicationAlias.objects.values_list("text", flat=True)]
    also += IngredientAlias.objects.values_list("text", flat=True)
    return tuple({name for name in (folded(each) for each in [*named, *also]) if len(name) > 3})


def _setting(name: str) -> str:
    return str(getattr(settings, name, "") or os.environ.get(name, ""))
