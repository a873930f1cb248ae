"""Show an answer to the customer while it is generated."""

from collections.abc import Sequence

from agent.answers.layout import sentences
from agent.inference.base import Reply, StepResult
from agent.turn.answer_check import OutputCheck
from agent.turn.progress import ProgressSink
from pharmacy_site.lib.text import Language


class Speaker:
    """Shows the answer of one turn."""

    def __init__(self, progress: ProgressSink, check: OutputCheck) -> None:
        self._progress, self._check = progress, check

    def attend(self, results: Sequence[StepResult]) -> None:
        """Take the results that the next words may name."""
        self._check.take(results)

    async def faults(self, sentence: str, language: Language) -> list[str]:
        """Return why a sentence of a language model's own may not be shown, [] when it may."""
        return await self._check.of_sentence(sentence, language)

    def show(self, text: str) -> None:
        """Show the next piece of the answer."""
        self._progress.say(text)

    def restart(self) -> None:
        """Take back what was shown: the answer begins anew."""
        if self._progress.text:
            self._progress.unsay()

    def finish(self, reply: Reply) -> None:
        """Show the rest of the answer as it will be stored."""
        if not reply.text.startswith(self._progress.text):
            self.restart()
        for sentence in sentences(reply.text[len(self._progress.text) :]):
            self._progress.say(sentence)
