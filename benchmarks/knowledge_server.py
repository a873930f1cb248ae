"""A language model for the knowledge flow that answers each node at once, with ready bytes.

    python -m benchmarks.knowledge_server

It prints its port, and ends when its stdin does.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from benchmarks.model_server import Connection, main, response


def _deltas(text: str) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for place in range(0, len(text), 4):
        yield {"content": text[place : place + 4]}


# By the first field that a node asks for; RagAgent's reply depends on its state.
_REPLIES = {
    field: response(_deltas(text), "stop")
    for field, text in {
        "type": "type: retrieve_kb\ncontext_summary: a question about what is on file",
        "next_action": "next_action: compose_answer\nreason: what was found answers it",
        "demuc": "demuc: none\nconfidence: high\nreason: it may be any",
        "chu_de_con": "chu_de_con: 1\nconfidence: high\nreason: the first fits",
        "selected_ids": "selected_ids: [c1, c2, c3]",
        "explanation": "explanation: [q1, q2]\nsuggestion_questions: [s1, s2, s3]",
    }.items()
}
_SEARCH = response(_deltas("next_action: retrieve_kb\nreason: nothing was searched"), "stop")
_BEFORE = b"Reply with these fields in YAML:\\n"


class NodeConnection(Connection):
    """Answers the node that asks."""

    def reply(self, body: bytes) -> bytes:
        """Return the response to a node's prompt."""
        if b"nothing was searched yet" in body:
            return _SEARCH
        return _REPLIES[body.rpartition(_BEFORE)[2].partition(b":")[0].decode()]


if __name__ == "__main__":
    asyncio.run(main(NodeConnection))
