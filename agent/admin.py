"""The staff's view of conversations with the tool calls of each answer, of tool calls, and of systems' keys."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from agent.models import ApiKey, Conversation, Feedback, ToolCall
from prescriptions.admin import PatientData, ReadOnly


@admin.register(Conversation)
class ConversationAdmin(PatientData, ReadOnly):
    """What was said and what the assistant did; each look is in the audit log."""

    list_display = ["__str__", "language", "mode", "messages_count", "calls_count", "created_at", "active_at"]
    list_filter = ["mode", "language", "created_at"]
    search_fields = ["id__startswith"]
    ordering = ["-active_at"]
    date_hierarchy = "created_at"
    fields = ["language", "mode", "created_at", "active_at", "transcript"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        told = Q(events__type="message.completed")
        found: QuerySet[Conversation] = super().get_queryset(request)
        return found.annotate(
            messages_number=Count("events", filter=told, distinct=True),
            calls_number=Count("runs__tool_calls", distinct=True),
        )

    @admin.display(description=_("messages"), ordering="messages_number")
    def messages_count(self, row: Any) -> int:
        return int(row.messages_number)

    @admin.display(description=_("tool calls"), ordering="calls_number")
    def calls_count(self, row: Any) -> int:
        return int(row.calls_number)

    @admin.display(description=_("transcript"))
    def transcript(self, row: Conversation) -> SafeString:
        """Every message in order; customers' text is escaped by the template."""
        runs = row.runs.prefetch_related("tool_calls")
        calls = {run.pk: list(run.tool_calls.all()) for run in runs}
        ratings = {feedback.seq: feedback for feedback in row.feedback.all()}
        lines = [
            {
                "seq": event.seq,
                "time": event.created_at,
                "type": event.type,
                "role": event.payload.get("role", ""),
                "text": event.payload.get("text", ""),
                "lang": event.payload.get("lang", row.language),
                "number": event.payload.get("number", ""),
                "feedback": ratings.get(event.seq),
                "calls": calls[event.run_id]
                if event.run_id and event.payload.get("role") == "assistant"
                else [],
            }
            for event in row.events.order_by("seq")
        ]
        return render_to_string("admin/agent/transcript.html", {"lines": lines})


@admin.register(Feedback)
class FeedbackAdmin(ReadOnly):
    """What customers thought of an answer, with the conversation it stands in."""

    list_display = ["created_at", "rating", "comment", "conversation", "seq"]
    list_filter = ["rating", "created_at"]
    list_select_related = ["conversation"]
    list_display_links = ["created_at"]
    ordering = ["-created_at"]
    date_hierarchy = "created_at"
    fields = ["created_at", "rating", "comment", "conversation", "seq"]


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnly):
    """Each call of a tool, by the chat or by a system."""

    list_display = ["created_at", "name", "actor", "ok", "code", "duration_ms"]
    list_filter = ["name", "ok", "code", "created_at"]
    search_fields = ["actor"]
    list_select_related = ["api_key"]
    ordering = ["-pk"]
    fields = ["created_at", "actor", "api_key", "name", "arguments", "ok", "code", "evidence", "duration_ms"]


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Systems' keys: issued by `manage.py issue_api_key`, switched off here."""

    list_display = ["name", "prefix", "scopes", "is_active", "created_at"]
    list_filter = ["is_active"]
    search_fields = ["name", "prefix"]
    fields = ["name", "prefix", "scopes", "is_active", "created_at"]
    readonly_fields = ["prefix", "scopes", "created_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
