"""The scripted model server as the language model of the knowledge flow: a reply for each node, over real HTTP."""

import re
from collections import defaultdict, deque
from typing import Any, Final

from scripted_model import KEY, MODEL, Reply, Request, ScriptedModel, by, forever, says

from agent.knowledge.answer import KnowledgeAnswer
from agent.knowledge.flow.ask import knowledge_ask
from agent.knowledge.flow.running import Limits
from agent.knowledge.flow.state import CLASSIFY, COMPOSE, CREATE_QUERY, DECIDE, FILTER, RAG
from agent.llm.knowledge import knowledge_model

SUBTOPIC: Final = "subtopic"
# The first field that each node asks for.
_NODES: Final = {
    "type": DECIDE,
    "next_action": RAG,
    "retrieval_query": CREATE_QUERY,
    "demuc": CLASSIFY,
    "chu_de_con": SUBTOPIC,
    "selected_ids": FILTER,
    "explanation": COMPOSE,
}
QUICK: Final = Limits(topic_wait=0.01)


class FlowModel:
    """Says what a test wants at a node, and something sensible elsewhere; `asked` are the nodes in the order of their requests."""

    def __init__(self, server: ScriptedModel) -> None:
        self.server = server
        self.asked: list[str] = []
        self._next: dict[str, deque[Reply]] = defaultdict(deque)
        self._always: dict[str, Reply] = {}
        self._is_scripted = False

    def at(self, node: str, *replies: Reply | str) -> None:
        """The next replies at a node."""
        self._next[node].extend(says(reply) if isinstance(reply, str) else reply for reply in replies)

    def always(self, node: str, reply: Reply | str) -> None:
        """The reply at a node when none of `at` is left."""
        self._always[node] = says(reply) if isinstance(reply, str) else reply

    def ask(self, question: str, **named: Any) -> KnowledgeAnswer:
        """The whole flow with the model of the settings."""
        if not self._is_scripted:
            self._is_scripted = True
            self.server.script(forever(by(self._reply)))
        with knowledge_model() as model:
            assert model is not None
            return knowledge_ask(
                question, **{"role": "customer", "language": "en", "model": model, "limits": QUICK, **named}
            )

    def prompts(self, node: str) -> list[str]:
        """What was sent at a node."""
        return [
            prompt(request)
            for request, asked in zip(self.server.requests, self.asked, strict=True)
            if asked == node
        ]

    def _reply(self, body: dict[str, Any]) -> Reply:
        text = body["messages"][-1]["content"]
        node = node_of(text)
        self.asked.append(node)
        if self._next[node]:
            return self._next[node].popleft()
        return self._always.get(node) or says(usual(node, text))


def prompt(request: Request) -> str:
    """The prompt of a request, without the system's message."""
    return str(request.messages[-1]["content"])


def node_of(text: str) -> str:
    """The node that asks with this prompt."""
    field = text.rpartition("Reply with these fields in YAML:\n")[2].partition(":")[0]
    return _NODES[field]


def usual(node: str, text: str) -> str:
    """What a model says that does its work."""
    is_begun = "nothing was searched yet" not in text
    storage = re.search(r"^(\d+)\. Storage$", text, re.MULTILINE)
    return {
        DECIDE: "type: retrieve_kb\ncontext_summary: They ask about insulin.",
        RAG: f"next_action: {'compose_answer' if is_begun else 'retrieve_kb'}\nreason: it is clear",
        CREATE_QUERY: "retrieval_query: Where do I keep insulin?\nconfidence: high\nreason: it stands alone",
        CLASSIFY: f"```yaml\ndemuc: {storage[1] if storage else 'none'}\nconfidence: high\nreason: it says so\n```",
        SUBTOPIC: "chu_de_con: none\nconfidence: low",
        FILTER: "selected_ids: [c1, c2]",
        COMPOSE: "explanation: [q1]\nsuggestion_questions: []",
    }[node]


def connect(settings: Any, server: ScriptedModel) -> None:
    """Make the server the site's language model."""
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = server.base_url, KEY
    settings.OPENAI_MODEL, settings.OPENAI_FAST_MODEL, settings.OPENAI_EMBEDDING_MODEL = MODEL, "", ""
