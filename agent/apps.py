"""The agent: how the pharmacy talks, over the chat and over HTTP."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AgentConfig(AppConfig):
    name = "agent"
    verbose_name = _("Assistant")

    def ready(self) -> None:
        from agent import checks  # noqa: F401  (registering is its import's effect)
        from agent.chat.handoff_news import on_handoff_changed
        from agent.chat.refill_news import on_refill_changed
        from prescriptions.signals import handoff_changed, refill_changed

        handoff_changed.connect(on_handoff_changed, dispatch_uid="agent.handoffs")
        refill_changed.connect(on_refill_changed, dispatch_uid="agent.refills")
