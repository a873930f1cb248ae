"""The agent: how the pharmacy talks, over the chat and over HTTP."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AgentConfig(AppConfig):
    name = "agent"
    verbose_name = _("Assistant")

    def ready(self) -> None:
        from agent import checks  # noqa: F401  (registering is its import's effect)
        from agent.chat.handoff_news import on_handoff_closed
        from prescriptions.signals import handoff_closed

        handoff_closed.connect(on_handoff_closed, dispatch_uid="agent.handoffs")
