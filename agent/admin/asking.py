"""The page on which staff ask the knowledge base, in the roles that their groups give them."""

from collections.abc import Sequence
from typing import Any, Final, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.functional import Promise
from django.utils.translation import get_language, get_language_info
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from agent.knowledge.answer import Status
from agent.knowledge.languages import languages_published
from agent.knowledge.roles import role_named, roles_asked_by
from agent.llm.asking import Asked, Stopped, question_ask
from agent.models import KnowledgeQuestion
from agent.models.knowledge import QUESTION_LENGTH
from pharmacy_site.lib.admin import ReadOnly, actor_of
from pharmacy_site.lib.text import Language, as_language
from prescriptions.audit import audit_record
from prescriptions.roles import roles_of

_TEMPLATE: Final = "admin/agent/knowledge_question.html"
_BETWEEN: Final = ":"
OUTCOMES: Final[dict[Stopped | Status, Promise]] = {
    Status.ANSWERED: _("Stored answers were chosen for the question."),
    Status.DIRECT: _("Small talk: nothing was looked up."),
    Status.STORED: _("The model did not answer: these are the best stored answers as they are."),
    Status.NOTHING: _("Nothing in this collection covers the question."),
    Status.UNAVAILABLE: _("The index cannot be reached."),
    Stopped.EMERGENCY: _("This reads like an emergency: nothing was looked up."),
    Stopped.REFUSED: _("This asks for advice about a person: nothing was looked up."),
}


class QuestionForm(forms.Form):
    """A question, and the collection that it is asked in."""

    collection = forms.ChoiceField(label=_("collection"), widget=UnfoldAdminSelectWidget)
    question = forms.CharField(
        label=_("question"),
        max_length=QUESTION_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "dir": "auto", "maxlength": QUESTION_LENGTH}),
    )

    def __init__(self, collections: Sequence[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [
            (f"{role}{_BETWEEN}{language}", f"{role_named(role)} · {language_named(language)}")
            for role, language in collections
        ]
        self.fields["collection"].choices = choices  # type: ignore[attr-defined]

    def clean_question(self) -> str:
        question: str = self.cleaned_data["question"].replace("\x00", "")
        return question


@admin.register(KnowledgeQuestion)
class KnowledgeQuestionAdmin(ReadOnly):
    """One page: a question, the stored answers with their sources, and the way that led to them."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeQuestion]:
        """Return nothing: entries are read on their own pages, by those who may."""
        return KnowledgeQuestion.objects.none()

    def get_urls(self) -> list[URLPattern]:
        """Return the page alone, without those of single rows."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="agent_knowledgequestion_changelist")]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the form, and below it what became of the question that was sent."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        collections = _collections(cast("User", request.user))
        form = QuestionForm(collections, request.POST or None, initial={"collection": _first(collections)})
        asked, language = None, ""
        if request.method == "POST" and form.is_valid():
            role, language = form.cleaned_data["collection"].split(_BETWEEN)
            asked = question_ask(
                form.cleaned_data["question"], role=role, language=language, words=_page_language()
            )
            detail = {"role": role, "language": language, "status": asked.status.value}
            # Of the question itself nothing: it may name a patient.
            audit_record(who=actor_of(request), what="knowledge_asked", where="admin", detail=detail)
        context = {
            **self.admin_site.each_context(request),
            "title": self.opts.verbose_name_plural,
            "opts": self.opts,
            "form": form if collections else None,
            **(_shown(asked, language) if asked else {}),
            **(extra_context or {}),
        }
        return TemplateResponse(request, _TEMPLATE, context)


def language_named(language: str) -> str:
    """Return a language's name in the language of the page; its code where Django knows none."""
    try:
        return str(get_language_info(language)["name_translated"])
    except KeyError:
        return language


def _shown(asked: Asked, language: str) -> dict[str, Any]:
    return {
        "asked": asked,
        "outcome": OUTCOMES[asked.status],
        "language": language,
    }


def _collections(user: User) -> list[tuple[str, str]]:
    """Return role and language of each collection that somebody may ask and that has published entries."""
    return [
        (role, language)
        for role in roles_asked_by(sorted(roles_of(user)))
        for language in languages_published(role)
    ]


def _page_language() -> Language:
    return as_language((get_language() or "")[:2])


def _first(collections: Sequence[tuple[str, str]]) -> str:
    """Return the collection that is chosen at first: one in the language of the page, if there is any."""
    first = collections[0] if collections else ("", "")
    role, language = next((each for each in collections if each[1] == _page_language()), first)
    return f"{role}{_BETWEEN}{language}"
