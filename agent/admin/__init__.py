"""The staff's pages of the assistant: conversations and systems (`chat`), the knowledge base (`knowledge`, `asking`)."""

from agent.admin import asking, chat, knowledge

__all__ = ["asking", "chat", "knowledge"]
