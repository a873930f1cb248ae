"""The forms of a case's page, one for each thing that may be done with it, and the sentences of what is refused."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget

from pharmacy_site.lib.text import clean, language_of
from prescriptions.admin.refill_forms import REFUSALS as REFILL_REFUSALS
from prescriptions.admin.refill_forms import place_choices, place_chosen
from prescriptions.cases.case import Case
from prescriptions.cases.decisions import OUTCOMES, REASONS, Decision, roles_for
from prescriptions.cases.queue import person_name
from prescriptions.cases.wording import ROLES, word
from prescriptions.models import Handoff, RefillRequest
from prescriptions.refill.collection import Pickup
from prescriptions.refill.decision_rules import place_is_open, places_for
from prescriptions.refill.orders import order_is_out
from prescriptions.refill.states import Reason

REPLY: Final = "reply"
MOST_REPLY: Final = 2_000
_MOST_QUESTION: Final = 500
_MOST_NOTE: Final = 500

REFUSALS: Final[Mapping[str, Promise]] = {
    **REFILL_REFUSALS,
    "over": _("This hand-off is over already."),
    "role": _("Your group may not decide this."),
    "own_request": _("Nobody decides a request of their own."),
    "reason": _("Choose a reason."),
    "outcome": _("Choose how it ended."),
    "text": _("Write the reply."),
    "no_conversation": _("The conversation was deleted, so nothing can be written into it."),
    "not_yours": _("Claim this hand-off first."),
    "changed": _("Somebody else changed this meanwhile. This is how it is now."),
}
"""What staff read when a service refuses, by the code."""


def _reasons(decision: Decision) -> list[tuple[str, Promise | str]]:
    return [(str(one), one.label) for one in REASONS[decision]]


class CaseForm(forms.Form):
    """A form of one case; its fields' ids begin with the name of what it does."""

    def __init__(self, case: Case, act: str, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id=f"{act}_%s")
        self.case = case
        self.prepare()

    def prepare(self) -> None:
        """Set what the fields offer in this case."""


class RefillForm(CaseForm):
    """A decision on a refill; `version` is that of the page on which it was made."""

    version = forms.IntegerField(widget=forms.HiddenInput)

    def prepare(self) -> None:
        if self.case.refill:
            self.fields["version"].initial = self.case.refill.version


class ApproveForm(RefillForm):
    """An approval; the reason that stands there first is meant unless another one is chosen."""

    reason = forms.ChoiceField(label=_("reason"), choices=_reasons(Decision.APPROVE), required=False)
    reference = forms.CharField(label=_("insurer's reference"), required=False, max_length=60)
    pickup = forms.ChoiceField(label=_("pick-up"))
    least_units: int | None = None
    """Of how many units an offered store has enough; None is the quantity that was asked for."""

    def prepare(self) -> None:
        super().prepare()
        findings = self.case.refill.findings if self.case.refill else []
        if all(row["reason"] != Reason.PRIOR_AUTHORISATION for row in findings):
            del self.fields["reference"]
        if self.case.refill and place_is_open(self.case.refill):
            self._offer_places(self.case.refill)
        else:
            del self.fields["pickup"]

    def _offer_places(self, refill: RefillRequest) -> None:
        """Offer the stores that have enough, and delivery; without a place yet, one must be chosen."""
        field = self.fields["pickup"]
        stores, can_deliver = places_for(refill, self.least_units)
        field.required = not refill.pickup_known
        empty = str(_("as requested")) if refill.pickup_known else "—"
        field.choices = [("", empty), *place_choices(stores, can_deliver)]  # type: ignore[attr-defined]
        if not stores:
            field.help_text = _("No store has enough in stock.")
        elif not refill.pickup_known:
            field.help_text = _("The customer named no place; an approval needs one.")

    def clean_pickup(self) -> Pickup | None:
        """Return the place that was chosen, None when it stays as it was requested."""
        return place_chosen(self.cleaned_data["pickup"])


class QuantityForm(ApproveForm):
    """An approval of another quantity."""

    quantity = forms.IntegerField(label=_("other quantity"), min_value=1)
    reason = forms.ChoiceField(label=_("reason"), choices=_reasons(Decision.CHANGE_QUANTITY), required=False)
    field_order = ["version", "quantity", "reason", "reference", "pickup"]
    # How many units are approved is not known yet: one pack will do, and the service refuses what is too little.
    least_units = 1

    def prepare(self) -> None:
        super().prepare()
        if self.case.refill:
            self.fields["quantity"].help_text = _("At most %(units)d units.") % {
                "units": self.case.refill.prescription.quantity
            }


class DenyForm(RefillForm):
    """A denial, which needs a reason."""

    reason = forms.ChoiceField(label=_("reason"), choices=[("", "—"), *_reasons(Decision.DENY)])


class AskForm(RefillForm):
    """A question to the customer, in the customer's language."""

    question = forms.CharField(
        label=_("question to the customer"),
        max_length=_MOST_QUESTION,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def prepare(self) -> None:
        super().prepare()
        _in_customers_language(self.fields["question"], self.case.handoff)

    def clean_question(self) -> str:
        """Refuse a question that is not in the customer's language."""
        return _cleaned(self.cleaned_data["question"], self.case.handoff)


class PassOnForm(CaseForm):
    """To whom a hand-off is passed on, and what they should know."""

    to = forms.ChoiceField(label=_("to"))
    note = forms.CharField(
        label=_("note"), required=False, max_length=_MOST_NOTE, widget=forms.Textarea(attrs={"rows": 2})
    )

    def prepare(self) -> None:
        roles = roles_for(self.case.handoff)
        people = User.objects.filter(
            is_active=True, is_staff=True, is_superuser=False, groups__name__in=roles
        )
        known = (
            people.exclude(pk=self.case.handoff.claimed_by_id or 0)
            .order_by("pk")
            .values_list("pk", "groups__name")
        )
        names = User.objects.in_bulk([pk for pk, _role in known])
        choices = [("", "—")]
        for role in roles:
            choices.append((role, word(ROLES, role)))
            choices += [
                (f"{role}:{pk}", f"{word(ROLES, role)}: {person_name(names[pk])}")
                for pk, group in known
                if group == role
            ]
        self.fields["to"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Read the choice as a role and perhaps a person."""
        values: dict[str, Any] = super().clean() or {}
        role, _mark, number = str(values.get("to", "")).partition(":")
        values["role"], values["person"] = role, User.objects.get(pk=int(number)) if number else None
        values["note"] = clean(values.get("note", ""))
        return values


class CloseForm(CaseForm):
    """How a hand-off ended."""

    outcome = forms.ChoiceField(
        label=_("outcome"), choices=[("", "—"), *((str(one), one.label) for one in OUTCOMES)]
    )


class PasswordForm(forms.Form):
    """The password of whoever is signed in."""

    password = forms.CharField(
        label=_("password"),
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class ReplyForm(CaseForm):
    """A message to the customer; `seen_seq` is the last message that its writer has read, in this `conversation`."""

    seen_seq = forms.IntegerField(widget=forms.HiddenInput)
    conversation = forms.UUIDField(widget=forms.HiddenInput, required=False)
    text = forms.CharField(
        label=_("reply to the customer"), max_length=MOST_REPLY, widget=forms.Textarea(attrs={"rows": 5})
    )

    def prepare(self) -> None:
        self.fields["seen_seq"].initial = self.case.last_seq
        self.fields["conversation"].initial = self.case.handoff.conversation_id
        _in_customers_language(self.fields["text"], self.case.handoff)

    def clean_text(self) -> str:
        """Return the text without characters that nobody sees."""
        return clean(self.cleaned_data["text"])


FORMS: Final[Mapping[str, type[CaseForm]]] = {
    Decision.APPROVE: ApproveForm,
    Decision.CHANGE_QUANTITY: QuantityForm,
    Decision.ASK: AskForm,
    Decision.DENY: DenyForm,
    Decision.PASS_ON: PassOnForm,
    Decision.CLOSE: CloseForm,
    REPLY: ReplyForm,
}
OF_REFILLS: Final = (Decision.APPROVE, Decision.CHANGE_QUANTITY, Decision.ASK, Decision.DENY)


def case_forms(case: Case, act: str = "", data: QueryDict | None = None) -> dict[str, CaseForm]:
    """Return the forms that this case's page shows by what they do; the one that was sent is filled."""
    if not case.is_mine or case.handoff.is_over:
        return {}
    wanted = [name for name in FORMS if name not in OF_REFILLS or case.waits]
    if case.handoff.conversation_id is None:
        wanted.remove(REPLY)
    if case.waits and case.refill and order_is_out(case.refill):
        wanted.remove(Decision.CHANGE_QUANTITY)
    return {name: FORMS[name](case, name, data if name == act else None) for name in wanted}


def _in_customers_language(field: forms.Field, handoff: Handoff) -> None:
    """Mark a field with the customer's language and its direction."""
    is_hebrew = handoff.language == "he"
    field.widget.attrs |= {"lang": handoff.language, "dir": "rtl" if is_hebrew else "ltr"}
    field.help_text = (
        _("The customer reads it in the chat: write Hebrew.")
        if is_hebrew
        else _("The customer reads it in the chat: write English.")
    )


def _cleaned(text: str, handoff: Handoff) -> str:
    found = clean(text).strip()
    if language_of(found) != handoff.language:
        raise forms.ValidationError(_("This is not in the customer's language."))
    return found
