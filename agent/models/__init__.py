"""Define the tables of the assistant.

`chat` has what was said and done, `access` who may open the chat or call the tools from elsewhere, and `knowledge` the entries
that health questions are answered from.
"""

from agent.models.access import ApiKey, ChatSite, IdempotentCall, public_id_make
from agent.models.chat import (
    Confirmation,
    Conversation,
    Event,
    Feedback,
    ModelUse,
    Run,
    Ticket,
    ToolCall,
)
from agent.models.knowledge import (
    KnowledgeCollection,
    KnowledgeEntry,
    KnowledgeQuestion,
    KnowledgeVersion,
    UnansweredQuestion,
)

__all__ = [
    "ApiKey",
    "ChatSite",
    "Confirmation",
    "Conversation",
    "Event",
    "Feedback",
    "IdempotentCall",
    "KnowledgeCollection",
    "KnowledgeEntry",
    "KnowledgeQuestion",
    "KnowledgeVersion",
    "ModelUse",
    "Run",
    "Ticket",
    "ToolCall",
    "UnansweredQuestion",
    "public_id_make",
]
