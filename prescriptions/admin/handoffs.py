"""Show the queue of hand-offs and the page of each case to staff, who claim, decide, answer, pass on and close there."""

from collections.abc import Mapping
from typing import Any, Final, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pharmacy_site.lib.admin import actor_of
from pharmacy_site.lib.polling import polled
from pharmacy_site.lib.text import as_language
from prescriptions.admin.base import PatientData
from prescriptions.admin.case_acts import act_on
from prescriptions.admin.case_forms import REFUSALS, REPLY, PasswordForm, case_forms
from prescriptions.admin.fresh import FRESH_SECONDS, is_fresh, password_again
from prescriptions.admin.queue_page import queue_page
from prescriptions.audit import Access
from prescriptions.cases.case import Case, case_read, messages_for
from prescriptions.cases.queue import newer_than, queue_row
from prescriptions.cases.templates import templates_offered
from prescriptions.cases.viewers import viewers_touch
from prescriptions.cases.wording import ROLES, page_language, word
from prescriptions.errors import (
    HandoffRefused,
    HandoffTaken,
    RefillChangedMeanwhile,
    RefillRefused,
    UnseenMessages,
)
from prescriptions.handoffs.moves import seen_here
from prescriptions.handoffs.selectors import handoffs_for
from prescriptions.handoffs.services import handoff_extend
from prescriptions.models import Handoff

_FOLDER: Final = "admin/prescriptions/handoff"
_CHANGE: Final = "prescriptions.change_handoff"


@admin.register(Handoff)
class HandoffAdmin(PatientData):
    """Hand-offs: customers who were promised a person. Services alone change the rows."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Handoff]:
        """Return the hand-offs of the reader's role and of the roles before it; all to an auditor."""
        return handoffs_for(_user(request)).select_related("patient", "medication", "branch", "claimed_by")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        """Add what the pages ask for every few seconds, and the page that asks for the password again."""
        view, name = self.admin_site.admin_view, "prescriptions_handoff_"
        return [
            path("rows/", view(self.rows_view), name=f"{name}rows"),
            path("<int:number>/live/", view(self.live_view), name=f"{name}live"),
            path("<int:number>/password/", view(self.password_view), name=f"{name}password"),
            *super().get_urls(),
        ]

    # -- The queue ---------------------------------------------------------------------------------------------
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the queue, and record which rows were listed."""
        return self._shown(request, None, lambda: self._queue(request))

    def _queue(self, request: HttpRequest) -> HttpResponse:
        self._need(request, self.has_view_permission(request))
        page = queue_page(_user(request), request.GET)
        self._record(request, "listed", detail=page.listed_keys)
        return self._rendered(request, "queue", _("Hand-offs"), {"page": page})

    @polled()
    def rows_view(self, request: HttpRequest) -> HttpResponse:
        """Return the queue's rows anew; what is listed is recorded when it is not what the page has already."""
        self._allow(request, self.has_view_permission(request))
        user = _user(request)
        page = queue_page(user, request.GET)
        if request.GET.get("sign") != page.sign:
            self._record(request, "listed", detail=page.listed_keys)
        # 0 is a page on which nothing waited.
        since = request.GET.get("since", "")
        new = newer_than(user, _number(since), page.last) if since else 0
        text = ngettext("%(count)d new hand-off", "%(count)d new hand-offs", new) % {"count": new}
        return JsonResponse(
            {
                "rows": render_to_string(f"{_FOLDER}/rows.html", {"page": page}),
                "caption": render_to_string(
                    f"{_FOLDER}/caption.html", {"count": page.listed.paginator.count}
                ),
                "sign": page.sign,
                "last": page.last,
                "waiting": page.counts["unclaimed"],
                "counts": page.counts,
                "news": text if new else "",
            }
        )

    # -- One case ----------------------------------------------------------------------------------------------
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one case with what the reader may do about it, or do it; both are recorded."""
        return self._shown(request, object_id, lambda: self._one(request, object_id))

    def _one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        self._need(request, self.has_view_permission(request, row))
        if row is None:
            missing: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
            return missing
        case = case_read(row, _user(request))
        if request.method == "POST":
            return self._sent(request, case)
        handoff_extend(row, _user(request))
        return self._case(request, case)

    def _sent(self, request: HttpRequest, case: Case) -> HttpResponse:
        """Do what was sent, and show the page again: with the form when something in it is missing."""
        if not request.user.has_perm(_CHANGE):
            raise PermissionDenied
        act = str(request.POST.get("act", ""))
        forms = case_forms(case, act, request.POST)
        form = forms.get(act)
        if form is not None and not form.is_valid():
            return self._case(request, case, forms)
        values = form.cleaned_data if form is not None else {}
        access = Access(who=actor_of(request), where="admin")
        is_done = False
        try:
            level, text = act_on(case, _user(request), act, values, access=access, is_fresh=is_fresh(request))
            self.message_user(request, text, level)
            is_done = True
        except UnseenMessages as news:
            # The text stays in the form, whose next press says that these were read.
            # It may have moved since the case was read.
            case.handoff.refresh_from_db()
            case = case_read(case.handoff, _user(request))
            seen = seen_here(case.handoff, values["seen_seq"], values["conversation"])
            unseen = messages_for(case.handoff, _user(request), after=seen)
            data = request.POST.copy()
            data["seen_seq"] = str(max([news.last_seq, *(said.seq for said in unseen)]))
            data["conversation"] = str(news.conversation)
            return self._case(request, case, case_forms(case, act, data), unseen=unseen)
        except HandoffTaken as taken:
            text = _("%(name)s has taken this hand-off.") % {"name": taken.holder}
            self._refused(request, case, "taken", text if taken.holder else str(REFUSALS["not_yours"]))
        except (HandoffRefused, RefillRefused) as refusal:
            self._refused(request, case, refusal.code, str(REFUSALS.get(refusal.code, REFUSALS["changed"])))
        except RefillChangedMeanwhile:
            self._refused(request, case, "changed", str(REFUSALS["changed"]))
        if act == REPLY and not is_done:
            # Refused: its writer may still want the text.
            return self._case(request, case, kept=request.POST.get("text", ""))
        if self.get_queryset(request).filter(pk=case.handoff.pk).exists():
            return redirect(request.path)
        # Passed on to a role whose hand-offs this reader does not see.
        return redirect("admin:prescriptions_handoff_changelist")

    def _case(
        self, request: HttpRequest, case: Case, forms: Mapping[str, Any] | None = None, **more: Any
    ) -> HttpResponse:
        handoff, user = case.handoff, _user(request)
        shown = case_forms(case) if forms is None else forms
        controlled = case.waits and case.medicine is not None and bool(case.medicine.schedule)
        context = {
            "case": case,
            "forms": shown,
            "may_change": request.user.has_perm(_CHANGE),
            "templates": templates_offered(page_language(), as_language(handoff.language))
            if REPLY in shown
            else (),
            "viewers": viewers_touch(handoff.pk, user),
            "needs_password": controlled and not is_fresh(request),
            "fresh_minutes": FRESH_SECONDS // 60,
            "sign": _sign(case.handoff),
            "original": handoff,
            **more,
        }
        return self._rendered(request, "case", handoff.number, context)

    @polled(unless="busy")
    def live_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Return the messages behind the one that the page has last, who else looks, and how the case stands now."""
        row = self.get_object(request, str(number))
        self._allow(request, row is not None and self.has_view_permission(request, row))
        handoff = cast(Handoff, row)
        user = _user(request)
        if request.GET.get("busy"):
            handoff_extend(handoff, user)
        here = str(handoff.conversation_id or "")
        # After a move the page has no message yet of the conversation that the hand-off is in now.
        is_same = request.GET.get("conversation", here) == here
        seen = _number(request.GET.get("seen", "")) if is_same else 0
        new = messages_for(handoff, user, after=seen)
        if new:
            self._record(request, "read", patient=handoff.patient, detail={"row": handoff.pk})
        count = len([said for said in new if said.role == "user"])
        text = ngettext("%(count)d new message", "%(count)d new messages", count) % {"count": count}
        return JsonResponse(
            {
                "messages": render_to_string(f"{_FOLDER}/messages.html", {"messages": new}),
                "last": max((said.seq for said in new), default=seen),
                "conversation": here,
                "news": text if count else "",
                "viewers": render_to_string(
                    f"{_FOLDER}/viewers.html", {"viewers": viewers_touch(handoff.pk, user)}
                ),
                "standing": render_to_string(
                    f"{_FOLDER}/standing.html",
                    {
                        "handoff": handoff,
                        "row": queue_row(handoff, user, timezone.now()),
                        "role": word(ROLES, handoff.contact),
                    },
                ),
                "urgent": "1" if handoff.is_urgent else "",
                "sign": _sign(handoff),
            }
        )

    def _refused(self, request: HttpRequest, case: Case, code: str, text: str) -> None:
        self.message_user(request, text, messages.ERROR)
        handoff = case.handoff
        self._record(request, "refused", patient=handoff.patient, detail={"row": handoff.pk, "code": code})

    # -- The password again ------------------------------------------------------------------------------------
    def password_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Ask for the password again, and return to the case."""
        row = self.get_object(request, str(number))
        self._allow(request, row is not None and request.user.has_perm(_CHANGE))
        handoff = cast(Handoff, row)
        form = PasswordForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            problem = password_again(request, form.cleaned_data["password"])
            if problem is None:
                return redirect("admin:prescriptions_handoff_change", handoff.pk)
            form.add_error("password", problem)
        return self._rendered(request, "password", handoff.number, {"form": form, "original": handoff})

    def _need(self, request: HttpRequest, allowed: bool) -> None:
        """Refuse a page, in the way by which `PatientData` records it."""
        if not allowed:
            raise PermissionDenied

    def _allow(self, request: HttpRequest, allowed: bool) -> None:
        """Refuse what a page asks for beside it, and record that: `PatientData` records pages alone."""
        if not allowed:
            self._record(request, "refused")
            raise PermissionDenied

    def _rendered(
        self, request: HttpRequest, name: str, title: Any, context: Mapping[str, Any]
    ) -> HttpResponse:
        whole = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "media": self.media,
            "has_view_permission": True,
            "list_url": reverse("admin:prescriptions_handoff_changelist"),
            **context,
        }
        return TemplateResponse(request, f"{_FOLDER}/{name}.html", whole)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def _sign(handoff: Handoff) -> str:
    """Return a text that changes when somebody claims, passes on or ends the hand-off, or it moves to another chat."""
    notes = len(handoff.package.get("notes") or [])
    holder = handoff.claimed_by_id or 0
    return f"{handoff.state}:{holder}:{handoff.contact}:{notes}:{handoff.conversation_id}"


def _number(text: str) -> int:
    """Return the number in an address, 0 for anything else."""
    return int(text[:9]) if text.isascii() and text.isdigit() else 0
