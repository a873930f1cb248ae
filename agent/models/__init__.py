"""The tables of the assistant: what was said and done (`chat`), and the entries that health questions are answered from (`knowledge`)."""

from agent.models.chat import (
    ApiKey,
    ChatSite,
    Confirmation,
    Conversation,
    Event,
    Feedback,
    IdempotentCall,
    ModelUse,
    Run,
    Ticket,
    ToolCall,
    public_id_make,
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
