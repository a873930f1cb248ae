"""Show an answer to the customer while it is generated."""

from collections.abc import Sequence
from itertools import zip_longest

from agent.answers.layout import sentences
from agent.inference.base import Reply, StepResult
from agent.turn.answer_check import OutputCheck
from agent.turn.progress import ProgressSink


class Speaker:
    """Shows the answer of one turn."""

    def __init__(self, progress: ProgressSink, check: OutputCheck) -> None:
        self._progress, self._check = progress, check

    def attend(self, results: Sequence[StepResult]) -> None:
        """Take the results that the next words may name."""
        self._check.take(results)

    def show(self, text: str, brief: str | None = None) -> None:
        """Show the next piece of the answer; `brief` is the same beside its cards, if it differs."""
        self._progress.say(text, brief)

    def restart(self) -> None:
        """Take back what was shown: the answer begins anew."""
        if self._progress.text:
            self._progress.unsay()

    def finish(self, reply: Reply) -> None:
        """Show the rest of the answer as it will be stored."""
        beside = reply.brief or reply.text
        if not (reply.text.startswith(self._progress.text) and beside.startswith(self._progress.brief)):
            self.restart()
        rest = sentences(reply.text[len(self._progress.text) :])
        brief_rest = sentences(beside[len(self._progress.brief) :])
        for sentence, brief in zip_longest(rest, brief_rest, fillvalue=""):
            self._progress.say(sentence, brief)
