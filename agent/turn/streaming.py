"""How an answer reaches a customer while it comes: in sentences, each of them checked before anybody sees it."""

import re
from collections.abc import Sequence
from typing import Final

from agent.answers.layout import sentences
from agent.answers.leaflets import leaflet_texts
from agent.inference.base import Reply, StepResult, Withheld
from agent.safety.fixed_wording import wrong_language
from agent.turn.answer_check import OutputCheck
from agent.turn.progress import ProgressSink
from pharmacy_site.lib.text import Language
from pharmacy_site.lib.vocabulary import SENTENCE_GAP

LONGEST_SENTENCE: Final = 1_500  # characters
SHORTEST_TELLING: Final = 40  # characters that show which language an answer is in
_OF_LEAFLET: Final = re.compile(r"\bleaflet\b|\blabel\b|עלון", re.IGNORECASE)


class Speaker:
    """What is said in one turn. Leaflet texts may say what the answer itself may not."""

    def __init__(self, progress: ProgressSink, check: OutputCheck) -> None:
        self._progress, self._check = progress, check
        self.verdict_forbidden = False
        self._results: Sequence[StepResult] = ()
        self._held = ""

    def attend(self, results: Sequence[StepResult]) -> None:
        """Takes what the next words may rest on."""
        self._check.take(results)
        self._results = tuple(results)

    async def hear(self, piece: str, language: Language) -> None:
        """Takes the next piece; every sentence that is whole is checked and shown. Raises Withheld."""
        self._held += piece
        if len(self._held) > LONGEST_SENTENCE:
            raise Withheld(["run_on"])
        ends = [match.end() for match in SENTENCE_GAP.finditer(self._held)]
        if not ends:
            return
        whole, self._held = self._held[: ends[-1]], self._held[ends[-1] :]
        for sentence in sentences(whole):
            await self._show(sentence, language)

    async def end(self, language: Language) -> None:
        """The answer is whole; what was still held is looked at, and its language. Raises Withheld."""
        held, self._held = self._held, ""
        if held.strip():
            await self._show(held, language)
        if wrong_language(self._progress.text, language):
            raise Withheld(["wrong_language"])

    async def _show(self, sentence: str, language: Language) -> None:
        # A first line may be a name in the other letters; more than that is the answer's language.
        said = self._progress.text + sentence
        if len(said) > SHORTEST_TELLING and wrong_language(said, language):
            raise Withheld(["wrong_language"])
        # A leaflet's words are only excused where the answer says whose they are.
        paragraph = said.rpartition("\n\n")[2]
        quoted = leaflet_texts(self._results) if _OF_LEAFLET.search(paragraph) else []
        problems = await self._check.of_sentence(sentence, quoted, verdict_forbidden=self.verdict_forbidden)
        if problems:
            raise Withheld(problems)
        self._progress.say(sentence)

    def restart(self) -> None:
        """Takes back what was said: the answer begins anew."""
        self._held = ""
        if self._progress.text:
            self._progress.unsay()

    def finish(self, reply: Reply) -> None:
        """Shows the rest of the answer as it will be kept."""
        if not reply.text.startswith(self._progress.text):
            self.restart()
        for sentence in sentences(reply.text[len(self._progress.text) :]):
            self._progress.say(sentence)
