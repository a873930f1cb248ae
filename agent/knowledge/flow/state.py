"""What the nodes of the flow share, with the specification's field names, and the names of nodes and actions. Pure."""

from typing import Final, Literal, TypedDict

from agent.knowledge.answer import Quote, Status
from agent.knowledge.retrieval import Candidate

INGEST: Final = "IngestQuery"
DECIDE: Final = "DecideSummarizeConversationToRetriveOrDirectlyAnswer"
RAG: Final = "RagAgent"
CREATE_QUERY: Final = "QueryCreatingForRetrievalAgent"
RETRIEVE_FLOW: Final = "RetrieveFlow"
CLASSIFY: Final = "TopicClassifyAgent"
RETRIEVE: Final = "RetrieveFromKB"
FILTER: Final = "FilterAgent"
COMPOSE: Final = "ComposeAnswer"
FALLBACK: Final = "FallbackNode"

Action = Literal[
    "default", "direct_response", "retrieve_kb", "create_retrieval_query", "compose_answer", "fallback"
]
RagState = Literal["init", "create_retrieval_query_reason", "retrieved", "filtered", "composing"]
Confidence = Literal["high", "medium", "low"]

MOST_ATTEMPTS: Final = 2
"""Retrievals for one question."""
MOST_SELECTED: Final = 10
KEPT_UNFILTERED: Final = 3
"""So many candidates or fewer are kept without filtering."""
MOST_SUGGESTIONS: Final = 3


class AnswerObj(TypedDict, total=False):
    """The specification's answer_obj: how the question ended, and with which stored texts or which ready sentence."""

    status: Status
    quotes: list[Quote]
    direct: str
    is_sure: bool


class Shared(TypedDict, total=False):
    """The shared store of S4. `action` is the edge that the node which ran last chose.

    `role` comes from the caller and no node writes it. `input` is the question as it came; every other text has nothing
    personal in it.
    """

    input: str
    role: str
    conversation_history: list[dict[str, str]]

    query: str
    retrieval_query: str
    original_query: str
    formatted_conversation_history: str
    context_summary: str

    demuc: str
    chu_de_con: str
    classification_confidence: Confidence

    retrieved_candidates: list[Candidate]
    selected_ids: list[str]
    selected_questions: list[str]
    rag_state: RagState
    retrieve_attempts: int

    retrieval_query_confidence: Confidence
    retrieval_query_reason: str
    create_retrieval_query_reason: str

    answer_obj: AnswerObj
    explain: str
    suggestion_questions: list[str]

    action: Action
    fallback_reason: str


def asked_query(shared: Shared) -> str:
    """Return what is searched for: the query made for retrieval if there is one, else the customer's own."""
    return shared.get("retrieval_query") or shared["query"]


def fallback(reason: str) -> Shared:
    """Return the update of a node that cannot do its work: the flow goes on at FallbackNode."""
    return {"action": "fallback", "fallback_reason": reason}
