"""Edit knowledge entries, try what the chat would answer, publish, and go back to an older version."""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agent.admin.asking import OUTCOMES
from agent.knowledge.indexing import collection_vocabulary
from agent.knowledge.relevance import relevance
from agent.knowledge.retrieval import get_full_qa_by_ids
from agent.knowledge.roles import CUSTOMER, language_check, role_check
from agent.knowledge.services import EntryIncomplete, entry_publish, entry_roll_back, entry_withdraw
from agent.llm.asking import question_ask
from agent.models import KnowledgeEntry, KnowledgeVersion, UnansweredQuestion
from agent.models.knowledge import TEXT_FIELDS
from pharmacy_site.lib.admin import Recorded, actor_of

PUBLISH: Final = "agent.publish_knowledgeentry"
_TEMPLATE: Final = "admin/agent/knowledge_entry.html"


class EntryForm(ModelForm):  # type: ignore[type-arg]
    """An entry's text; role, language and id are chosen once."""

    def clean_role(self) -> str:
        role: str = self.cleaned_data["role"]
        role_check(role)
        return role

    def clean_language(self) -> str:
        language: str = self.cleaned_data["language"]
        language_check(language)
        return language


@admin.register(KnowledgeEntry)
class KnowledgeEntryAdmin(Recorded):
    """Questions and answers of the knowledge base. Saving makes a draft; customers read what is published."""

    form = EntryForm
    list_display = ["entry_id", "role", "language", "demuc", "question_shown", "state", "is_live"]
    list_display_links = ["entry_id", "question_shown"]
    list_filter = ["role", "language", "state", "demuc"]
    list_select_related = ["live"]
    search_fields = ["entry_id", "question", "asked_as", "answer"]
    ordering = ["role", "entry_id", "language"]
    readonly_fields = ["state", "publishing", "changed_at", "changed_by"]
    fieldsets = [
        (None, {"fields": ["role", "language", "entry_id", "demuc", "chu_de_con"]}),
        (_("Text"), {"fields": ["question", "asked_as", "answer", "explanation", "source"]}),
        (_("Publication"), {"fields": ["publishing", "state", "changed_at", "changed_by"]}),
    ]
    actions = ["publish", "withdraw"]

    @admin.display(description=_("question"), ordering="question")
    def question_shown(self, row: KnowledgeEntry) -> str:
        """Return the question in its own direction."""
        return format_html('<span dir="auto">{}</span>', row.question)

    @admin.display(description=_("customers read it"), boolean=True, ordering="live")
    def is_live(self, row: KnowledgeEntry) -> bool:
        return row.live_id is not None

    @admin.display(description=_("try and publish"))
    def publishing(self, row: KnowledgeEntry) -> str:
        """Return a link to the page that tries and publishes the stored text."""
        if row.pk is None:
            return str(_("Save the draft first."))
        url = reverse("admin:agent_knowledgeentry_publish", args=[row.pk])
        return format_html('<a href="{}">{}</a>', url, _("Try, publish, or go back to an older version"))

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Let each text run in its own direction, whatever the page's is."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name in TEXT_FIELDS and field is not None:
            field.widget.attrs["dir"] = "auto"
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Keep role, language and id as they are once somebody may have read the entry."""
        own = list(self.readonly_fields)
        return [*own, "role", "language", "entry_id"] if obj and obj.version else own

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"role": CUSTOMER, **super().get_changeform_initial_data(request)}

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow it for what was never published; the rest is withdrawn, and its versions stay."""
        return bool(obj is not None and not obj.version and super().has_delete_permission(request, obj))

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PUBLISH)

    def save_model(self, request: HttpRequest, obj: KnowledgeEntry, form: Any, change: bool) -> None:
        """Store a draft, unless the text is again what customers read."""
        same = obj.live is not None and all(
            getattr(obj, name) == getattr(obj.live, name) for name in TEXT_FIELDS
        )
        obj.state = KnowledgeEntry.State.PUBLISHED if same else KnowledgeEntry.State.DRAFT
        obj.changed_by = actor_of(request)
        if not change:
            obj.save()
            return
        # What publishing writes is not the form's to overwrite.
        obj.save(update_fields=[*form.changed_data, "state", "changed_by", "changed_at"])

    @admin.action(description=_("Publish the selected entries"), permissions=["publish"])
    def publish(self, request: HttpRequest, queryset: QuerySet[KnowledgeEntry]) -> None:
        """Publish those that are drafts, all or none."""
        drafts = list(queryset.filter(state=KnowledgeEntry.State.DRAFT))
        try:
            with transaction.atomic():
                for row in drafts:
                    entry_publish(entry=row, actor=actor_of(request))
        except EntryIncomplete as error:
            self._incomplete(request, error)
            return
        text = ngettext("%(count)d entry published.", "%(count)d entries published.", len(drafts))
        self.message_user(request, text % {"count": len(drafts)}, messages.SUCCESS)

    @admin.action(description=_("Withdraw the selected entries"), permissions=["publish"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[KnowledgeEntry]) -> None:
        """Show customers nothing of them any more."""
        rows = list(queryset.filter(live__isnull=False))
        with transaction.atomic():
            for row in rows:
                entry_withdraw(entry=row, actor=actor_of(request))
        text = ngettext("%(count)d entry withdrawn.", "%(count)d entries withdrawn.", len(rows))
        self.message_user(request, text % {"count": len(rows)}, messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        """Add the page that tries and publishes an entry."""
        page = path(
            "<int:pk>/publish/",
            self.admin_site.admin_view(self.publish_view),
            name="agent_knowledgeentry_publish",
        )
        return [page, *super().get_urls()]

    def publish_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show an entry with what the chat answers to a question, and publish, withdraw or roll it back."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if request.method == "POST":
            self._act(request, row, str(request.POST.get("act", "")))
            return redirect(request.path)
        question = str(request.GET.get("question", "")) or row.question
        context = {
            **self.admin_site.each_context(request),
            "title": str(row),
            "opts": self.opts,
            "row": row,
            "may_publish": self.has_publish_permission(request),
            "seen": row.changed_at.isoformat(),
            "question": question,
            **_previewed(row, question),
            "versions": row.versions.all(),
        }
        return TemplateResponse(request, _TEMPLATE, context)

    def _act(self, request: HttpRequest, row: KnowledgeEntry, act: str) -> None:
        if not self.has_publish_permission(request):
            raise PermissionDenied
        actor = actor_of(request)
        try:
            if act == "publish" and request.POST.get("seen") != row.changed_at.isoformat():
                self.message_user(
                    request, _("Somebody changed the text meanwhile. Read it again."), messages.ERROR
                )
                return
            if act == "publish":
                entry_publish(entry=row, actor=actor)
                text = _("Published. Customers read this text from now on.")
            elif act == "withdraw":
                entry_withdraw(entry=row, actor=actor)
                text = _("Withdrawn. Customers no longer read it.")
            else:
                entry_roll_back(entry=row, number=int(act), actor=actor)
                text = _("The older version is published again.")
        except EntryIncomplete as error:
            self._incomplete(request, error)
        except (ValueError, KnowledgeVersion.DoesNotExist):
            self.message_user(request, _("There is no such version."), messages.ERROR)
        else:
            self.message_user(request, text, messages.SUCCESS)

    def _incomplete(self, request: HttpRequest, error: EntryIncomplete) -> None:
        names = ", ".join(str(self.opts.get_field(name).verbose_name) for name in error.fields)
        text = _("Not published: an entry has an empty field (%(fields)s).") % {"fields": names}
        self.message_user(request, text, messages.ERROR)


def _previewed(row: KnowledgeEntry, question: str) -> dict[str, Any]:
    """Return what the chat answers now, from what is published, and how much of the question the stored text covers.

    A draft is in no index: beside the relevance of what the chat quotes, its own shows whether it would be.
    """
    asked = question_ask(question, role=row.role, language=row.language, is_preview=True)
    ids = [row.entry_id, *(quote.entry_id for quote in asked.answer.quotes)]
    # After the question was asked: before, there may be no index yet.
    weights = collection_vocabulary(row.role).weights(question)
    full = get_full_qa_by_ids(ids, row.role, language=row.language)
    covered = {qa["id"]: _percent(weights, qa["CAUHOI"], qa["CAUTRALOI"]) for qa in full}
    return {
        "asked": asked,
        "outcome": OUTCOMES[asked.status],
        "quotes": [(quote, covered.get(quote.entry_id)) for quote in asked.answer.quotes],
        "is_quoted": row.entry_id in ids[1:],
        "own_covered": _percent(weights, row.question, row.answer),
    }


def _percent(weights: Mapping[str, float], question: str, answer: str) -> int:
    return round(100 * relevance(weights, question, answer))


@admin.register(UnansweredQuestion)
class UnansweredQuestionAdmin(Recorded):
    """What people asked and the knowledge base had nothing for: what to write next."""

    list_display = ["question", "times", "role", "language", "last_at", "done", "write"]
    list_filter = ["done", "role", "language"]
    search_fields = ["question"]
    ordering = ["done", "-times", "-last_at"]
    fields = ["question", "role", "language", "times", "first_at", "last_at", "write", "done"]
    readonly_fields = ["question", "role", "language", "times", "first_at", "last_at", "write"]

    @admin.display(description=_("entry"))
    def write(self, row: UnansweredQuestion) -> str:
        """Return a link to a new entry that begins with this question."""
        given = {"role": row.role, "language": row.language, "question": row.question}
        url = f"{reverse('admin:agent_knowledgeentry_add')}?{urlencode(given)}"
        return format_html('<a href="{}">{}</a>', url, _("Write an entry"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
