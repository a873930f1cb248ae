"""The staff's view of conversations with the tool calls of each answer, of tool calls, systems' keys and sites."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from agent.conversation.embedding import OriginRefused, origin_clean
from agent.knowledge.roles import role_check
from agent.models import ApiKey, ChatSite, Conversation, Feedback, Run, ToolCall
from pharmacy_site.lib.admin import Recorded
from prescriptions.admin import PatientData, ReadOnly
from prescriptions.audit import AuditDetail, audit_record
from prescriptions.models import Patient

EMERGENCIES = {
    "MEDICAL": _("medical"),
    "POISONING": _("poisoning"),
    "SELF_HARM": _("self-harm"),
    "EXTRA_DOSE": _("extra dose"),
    "ADVERSE": _("reaction to a medicine"),
}


@admin.register(Conversation)
class ConversationAdmin(PatientData, ReadOnly):
    """What was said and what the assistant did; each look is in the audit log."""

    list_display = [
        *("__str__", "emergency_shown", "language", "mode"),
        *("messages_count", "calls_count", "created_at", "active_at"),
    ]
    list_filter = ["emergency_open", "mode", "language", "created_at"]
    search_fields = ["id__startswith"]
    ordering = ["-emergency_open", "-active_at"]
    date_hierarchy = "created_at"
    fields = ["emergency_shown", "language", "mode", "created_at", "active_at", "transcript"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        told = Q(events__type="message.completed")
        found: QuerySet[Conversation] = super().get_queryset(request)
        return found.annotate(
            messages_number=Count("events", filter=told, distinct=True),
            calls_number=Count("runs__tool_calls", distinct=True),
        )

    @admin.display(description=_("emergency"), ordering="emergency_open")
    def emergency_shown(self, row: Conversation) -> str:
        """The kinds of the last emergency; in bold while it is open."""
        kinds = ", ".join(str(EMERGENCIES.get(kind, kind)) for kind in row.emergency.split(",") if kind)
        if row.emergency_open:
            return format_html("<strong>{}: {}</strong>", _("OPEN"), kinds)
        return kinds

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
        runs_by_id = {run.pk: run for run in runs}
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
                "run": runs_by_id.get(event.run_id)
                if event.run_id and event.payload.get("role") == "assistant"
                else None,
            }
            for event in row.events.order_by("seq")
        ]
        return render_to_string("admin/agent/transcript.html", {"lines": lines})


@admin.register(Run)
class RunAdmin(ReadOnly):
    """The work of answering: by which model, what it cost, and why it failed or fell back. No text."""

    list_display = ["created_at", "kind", "state", "model", "fallback", "tokens_in", "tokens_out", "cost"]
    list_filter = ["state", "model", "fallback", "created_at"]
    list_select_related = ["conversation"]
    ordering = ["-created_at"]
    date_hierarchy = "created_at"
    fields = [
        *("conversation", "created_at", "finished_at", "kind", "state", "attempts", "error_code"),
        *("model", "prompt", "fallback", "tokens_in", "tokens_out", "cost"),
    ]


@admin.register(Feedback)
class FeedbackAdmin(PatientData, ReadOnly):
    """What customers thought of an answer, with its conversation; each look is in the audit log."""

    list_display = ["created_at", "rating", "comment", "conversation", "seq"]
    list_filter = ["rating", "created_at"]
    list_select_related = ["conversation__patient"]
    list_display_links = ["created_at"]
    ordering = ["-created_at"]
    date_hierarchy = "created_at"
    fields = ["created_at", "rating", "comment", "conversation", "seq"]

    def patient_of(self, row: Any) -> Patient | None:
        """Return the patient of its conversation, if they proved who they are."""
        return _patient(row.conversation)


@admin.register(ToolCall)
class ToolCallAdmin(PatientData, ReadOnly):
    """Each call of a tool, by the chat or by a system; each look is in the audit log."""

    list_display = ["created_at", "name", "actor", "ok", "code", "duration_ms"]
    list_filter = ["name", "ok", "code", "created_at"]
    search_fields = ["actor"]
    list_select_related = ["api_key", "run__conversation__patient"]
    ordering = ["-pk"]
    fields = ["created_at", "actor", "api_key", "name", "arguments", "ok", "code", "evidence", "duration_ms"]

    def patient_of(self, row: Any) -> Patient | None:
        """Return the patient of its conversation, if they proved who they are; a system's call has none."""
        return _patient(row.run.conversation) if row.run else None


@admin.register(ApiKey)
class ApiKeyAdmin(Recorded):
    """Systems' keys: issued by `manage.py issue_api_key`, switched off here."""

    list_display = ["name", "prefix", "scopes", "roles", "user", "is_active", "created_at"]
    list_filter = ["is_active"]
    list_select_related = ["user"]
    search_fields = ["name", "prefix"]
    fields = ["name", "prefix", "scopes", "roles", "user", "is_active", "created_at"]
    readonly_fields = ["prefix", "scopes", "roles", "user", "created_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


ORIGIN_ERRORS = {
    "form": _("Line %(line)d: write a whole origin and nothing behind it, like https://www.example.com"),
    "scheme": _("Line %(line)d: only https is safe; http is for localhost and 127.0.0.1."),
    "host": _(
        "Line %(line)d: this is no full host name. Wildcards and addresses of machines are not allowed."
    ),
    "port": _("Line %(line)d: a port is a number from 1 to 65535."),
}


class OriginsField(forms.CharField):
    """A list of origins, written one per line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        cleaned, wrong = [], []
        for number, line in enumerate(str(value or "").splitlines(), start=1):
            if not line.strip():
                continue
            try:
                cleaned.append(origin_clean(line))
            except OriginRefused as error:
                wrong.append(ValidationError(ORIGIN_ERRORS[error.reason], params={"line": number}))
        if wrong:
            raise ValidationError(wrong)
        return list(dict.fromkeys(cleaned))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class ChatSiteForm(forms.ModelForm):  # type: ignore[type-arg]
    origins = OriginsField(
        label=_("origins"),
        help_text=_("One per line: the sites whose pages may show the chat, like https://www.example.com"),
    )

    class Meta:
        model = ChatSite
        fields = ["name", "origins", "first_party", "knowledge_role", "is_active"]

    def clean_knowledge_role(self) -> str:
        role = str(self.cleaned_data["knowledge_role"])
        if role:
            role_check(role)
        return role


@admin.register(ChatSite)
class ChatSiteAdmin(ModelAdmin):
    """Websites that show the chat in a frame; one that is over is switched off, since its conversations stay."""

    form = ChatSiteForm
    list_display = ["name", "public_id", "first_party", "is_active", "created_at"]
    list_filter = ["is_active", "first_party"]
    search_fields = ["name", "public_id"]
    ordering = ["name"]
    readonly_fields = ["public_id", "created_at", "snippet", "policy"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        own = ["name", "origins", "first_party", "knowledge_role", "is_active"]
        return [*own, "snippet", "policy", "public_id", "created_at"] if obj else own

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        site = super().get_object(request, object_id, from_field)
        if site is not None:
            site.served_at = request.build_absolute_uri("/").rstrip("/")
        return site

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("line for their pages"))
    def snippet(self, site: Any) -> SafeString:
        """The one line that shows the chat, with this installation's address."""
        line = '<script src="{}{}" data-site="{}" data-locale="auto" async></script>'
        return _code(line.format(site.served_at, reverse("loader"), site.public_id))

    @admin.display(description=_("for their content policy"))
    def policy(self, site: Any) -> SafeString:
        """What a site with a content policy of its own adds to it."""
        return _code(f"script-src {site.served_at}; frame-src {site.served_at}")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _record(request, obj, "chatsite_added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _record(request, obj, "chatsite_changed")
        return super().log_change(request, obj, message)


def _patient(conversation: Conversation) -> Patient | None:
    return conversation.patient


def _code(text: str) -> SafeString:
    return format_html('<code dir="ltr">{}</code>', text)


def _record(request: HttpRequest, site: ChatSite, what: str) -> None:
    detail: AuditDetail = {
        "site": site.pk,
        "origins": [origin[:100] for origin in site.origins],
        "first_party": site.first_party,
        "active": site.is_active,
        # Without one of its own, the setting decides.
        **({"role": site.knowledge_role} if site.knowledge_role else {}),
    }
    audit_record(who=f"user:{request.user.pk}", what=what, where="admin", detail=detail)
