"""Decisions on refills at their hand-offs: what each needs, whose it is, and the password again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from prescriptions.admin import fresh
from prescriptions.admin.case_acts import act_on
from prescriptions.audit import Access
from prescriptions.cases.case import case_read
from prescriptions.cases.decisions import case_decide
from prescriptions.errors import RefillChangedMeanwhile, RefillRefused
from prescriptions.models import AuditEvent, Handoff, Notification, RefillRequest, RefillTransition
from prescriptions.refill.questions import Written, answer_take

Submit = Callable[..., RefillRequest]
Login = Callable[..., Client]
LIST = "/admin/prescriptions/handoff/"
PASSWORD = "correct horse battery"
JOHNS_ALLERGY, CODEINE, ADALIMUMAB, OXYCODONE, IBUPROFEN = 12, 13, 14, 15, 17
DECIDERS = ["pharmacist", "physician"]


def page_of(request: RefillRequest) -> str:
    return f"{LIST}{request.handoff_id}/change/"


def claim(client: Client, request: RefillRequest) -> None:
    request.refresh_from_db()
    client.post(page_of(request), {"act": "claim"})


def send(client: Client, request: RefillRequest, decision: str, *, follow: bool = False, **more: Any) -> Any:
    """Claim it and decide, without a look at the page that this leads to, which takes most of the time."""
    claim(client, request)
    return client.post(page_of(request), {"act": decision, "version": request.version, **more}, follow=follow)


def decide(client: Client, request: RefillRequest, decision: str, **more: Any) -> Any:
    """Claim it and decide, and return the page that this leads to."""
    return send(client, request, decision, follow=True, **more)


def enter_password(client: Client, request: RefillRequest, password: str = PASSWORD) -> Any:
    request.refresh_from_db()
    url = f"{LIST}{request.handoff_id}/password/"
    return client.post(url, {"password": password}, follow=True)


def needs_password(client: Client, request: RefillRequest) -> bool:
    return bool(client.get(page_of(request)).context["needs_password"])


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def errors_of(response: Any, act: str) -> Any:
    return response.context["forms"][act].errors


class TestDecisions:
    @pytest.mark.parametrize("role", DECIDERS)
    def test_an_approval_is_dispensed(self, demo: None, submit: Submit, login: Login, role: str) -> None:
        request = submit(JOHNS_ALLERGY)
        response = decide(login(role), request, "approve")
        assert "sent for preparation" in said(response)
        request.refresh_from_db()
        assert (request.outcome, request.walk) == ("dispensed", 2)
        assert Handoff.objects.get().state == "decided"

    def test_a_denial_ends_it(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(JOHNS_ALLERGY)
        send(login(), request, "deny", reason="unsafe")
        request.refresh_from_db()
        assert request.outcome == "denied"
        assert RefillTransition.objects.get(request=request, event="deny").detail["reason"] == "unsafe"

    def test_a_question_is_kept_and_the_customer_is_told(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        language = request.language
        question = "האם נטלת את התרופה בעבר?" if language == "he" else "Have you taken this before?"
        send(login(), request, "ask", question=question)
        assert RefillTransition.objects.get(request=request, event="asked").detail["question"] == question
        assert Notification.objects.filter(kind="refill_question").count() == 1
        request.refresh_from_db()
        assert request.outcome is None

    @pytest.mark.parametrize("question", ["", "   ", "12345"])
    def test_a_question_without_words_is_refused(
        self, demo: None, submit: Submit, login: Login, question: str
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        response = decide(login(), request, "ask", question=question)
        assert errors_of(response, "ask")["question"]
        assert not RefillTransition.objects.filter(event="asked").exists()

    def test_a_question_in_the_other_language_is_refused(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(IBUPROFEN)
        assert request.language == "he"
        response = decide(login(), request, "ask", question="Do you still take warfarin?")
        assert "customer&#x27;s language" in str(errors_of(response, "ask")["question"])

    def test_another_quantity_is_dispensed(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(JOHNS_ALLERGY)
        units = request.prescription.quantity // 2
        send(login(), request, "change_quantity", quantity=units)
        request.refresh_from_db()
        assert (request.outcome, request.quantity) == ("dispensed", units)

    def test_too_great_a_quantity_is_refused(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(JOHNS_ALLERGY)
        response = decide(login(), request, "change_quantity", quantity=9_999)
        assert "at most what was prescribed" in said(response)
        assert RefillRequest.objects.get().outcome is None

    @pytest.mark.parametrize(
        ("decision", "field"), [("change_quantity", "quantity"), ("deny", "reason"), ("close", "outcome")]
    )
    def test_what_a_decision_needs_is_asked_for(
        self, demo: None, submit: Submit, login: Login, decision: str, field: str
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        response = decide(login(), request, decision)
        assert errors_of(response, decision)[field] and RefillRequest.objects.get().outcome is None

    def test_prior_authorisation_needs_the_insurers_reference(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(ADALIMUMAB)
        assert request.reason == "prior_authorisation"
        client = login()
        assert "reference of the insurer" in said(decide(client, request, "approve"))
        assert "insurer" in client.get(page_of(request)).content.decode()
        send(client, request, "approve", reference="PA-77/2026", reason="authorised")
        request.refresh_from_db()
        assert request.outcome == "dispensed"
        assert "PA-77/2026" in client.get(page_of(request)).content.decode()

    def test_a_pharmacist_does_not_reach_what_waits_for_a_physician(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(CODEINE)
        client = login()
        assert client.get(page_of(request)).status_code == 302
        send(client, request, "approve")
        assert RefillRequest.objects.get().outcome is None
        assert Handoff.objects.get().state == "open"

    def test_schedule_ii_is_approved_by_nobody(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(OXYCODONE)
        client = login("physician")
        enter_password(client, request)
        assert "new prescription" in said(decide(client, request, "approve"))
        assert RefillRequest.objects.get().outcome is None

    @pytest.mark.parametrize("role", ["auditor", "technician", "administrator"])
    def test_nobody_else_decides(self, demo: None, submit: Submit, login: Login, role: str) -> None:
        request = submit(JOHNS_ALLERGY)
        send(login(role), request, "approve")
        request.refresh_from_db()
        assert (request.outcome, request.walk) == (None, 1)

    def test_an_approval_that_a_new_finding_stops_says_so(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(2, 101)
        assert request.reason == "out_of_stock"
        assert "stopped again: not enough in stock" in said(decide(login(), request, "approve"))

    def test_closing_ends_the_request_with_its_outcome(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        send(login(), request, "close", outcome="in_branch")
        request.refresh_from_db()
        assert request.outcome == "closed"
        assert (Handoff.objects.get().state, Handoff.objects.get().outcome) == ("closed", "in_branch")

    @pytest.mark.parametrize(("decision", "reason"), [("approve", "unsafe"), ("deny", "reviewed")])
    def test_each_decision_has_its_own_reasons(
        self, demo: None, submit: Submit, login: Login, decision: str, reason: str
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        assert errors_of(decide(login(), request, decision, reason=reason), decision)["reason"]
        assert RefillRequest.objects.get().outcome is None

    def test_a_refill_is_passed_on_only_to_who_may_decide_it(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        client = login()
        assert errors_of(decide(client, request, "pass_on", to="technician"), "pass_on")["to"]
        send(client, request, "pass_on", to="physician", note="sulfa?")
        handoff = Handoff.objects.get()
        assert (handoff.contact, handoff.state, handoff.package["notes"][0]["text"]) == (
            "physician",
            "open",
            "sulfa?",
        )
        physician = login("physician")
        assert "sulfa?" in physician.get(page_of(request)).content.decode()
        assert "sent for preparation" in said(decide(physician, request, "approve"))


class TestWhose:
    def test_only_who_claimed_it_decides(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(JOHNS_ALLERGY)
        first, second = login(), login("physician")
        page = page_of(request)
        data = {"act": "approve", "version": request.version}
        assert "Claim this hand-off first" in said(first.post(page, data, follow=True))
        claim(first, request)
        assert "the-pharmacist has taken this" in said(second.post(page, {"act": "claim"}, follow=True))
        assert "the-pharmacist has taken this" in said(second.post(page, data, follow=True))
        assert "the-pharmacist has claimed this" in second.get(page).content.decode()
        assert RefillRequest.objects.get().outcome is None
        first.post(page, {"act": "release"})
        assert "sent for preparation" in said(decide(second, request, "approve"))

    @pytest.mark.parametrize("decision", ["approve", "deny", "close"])
    def test_who_requested_does_not_decide(
        self, demo: None, submit: Submit, login: Login, decision: str
    ) -> None:
        from prescriptions.audit import Access

        client = login()
        user = client.user  # type: ignore[attr-defined]
        request = submit(JOHNS_ALLERGY, access=Access(who=f"user:{user.pk}", where="admin"))
        page = client.get(page_of(request)).content.decode()
        assert "of their own" in page and 'value="claim"' not in page
        assert "of their own" in said(client.post(page_of(request), {"act": "claim"}, follow=True))
        send(client, request, decision, reason="unsafe", outcome="answered")
        # Even with a claim that somebody made by other ways.
        Handoff.objects.update(claimed_by=user, state="claimed", claimed_at=request.requested_at)
        refused = decide(client, request, decision, **_needed(decision))
        assert "of their own" in said(refused)
        assert RefillRequest.objects.get().outcome is None
        codes = {line.detail["code"] for line in AuditEvent.objects.filter(what="handoff_refused")}
        assert "own_request" in codes

    def test_nobody_decides_what_is_asked_for_themselves(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        client = login()
        user = client.user  # type: ignore[attr-defined]
        user.email = request.patient.email.upper()
        user.save()
        assert "of their own" in said(client.post(page_of(request), {"act": "claim"}, follow=True))

    def test_a_page_that_showed_something_else_decides_nothing(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        client = login()
        claim(client, request)
        version = request.version
        question = "Have you taken this before?"
        send(client, request, "ask", question=question)
        data = {"act": "approve", "version": version}
        assert "changed this meanwhile" in said(client.post(page_of(request), data, follow=True))
        send(client, request, "deny", reason="unsafe")
        assert "over already" in said(client.post(page_of(request), data, follow=True))
        assert RefillRequest.objects.get().outcome == "denied"

    @pytest.mark.parametrize("state", ["sent", "unknown"])
    def test_of_an_order_that_is_out_no_other_quantity_is_approved(
        self, demo: None, submit: Submit, login: Login, state: str
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        RefillRequest.objects.filter(pk=request.pk).update(order_state=state)
        client = login()
        response = decide(client, request, "change_quantity", quantity=1)
        assert "The order was sent" in said(response)
        request.refresh_from_db()
        assert (request.outcome, request.quantity) == (None, request.prescription.quantity)
        assert {"approve", "deny"} < response.context["forms"].keys()
        assert "change_quantity" not in response.context["forms"]
        assert 'value="change_quantity"' not in response.content.decode()
        user = client.user  # type: ignore[attr-defined]
        handoff = Handoff.objects.get()
        with pytest.raises(RefillRefused, match="order_out"):
            case_decide(handoff, user, "change_quantity", access=Access("user:1", "admin"), quantity=1)

    @pytest.mark.parametrize("decision", ["approve", "deny"])
    def test_an_answer_that_came_after_the_case_was_read_stops_the_decision(
        self, demo: None, submit: Submit, login: Login, decision: str
    ) -> None:
        request = submit(JOHNS_ALLERGY, conversation_id=uuid4())
        client = login()
        send(client, request, "ask", question="Have you taken this before?")
        handoff, user = Handoff.objects.get(), client.user  # type: ignore[attr-defined]
        case = case_read(handoff, user)
        assert case.refill and request.conversation_id
        written = Written(request.conversation_id, 1, timezone.now(), "Yes, and I had a rash.")
        assert answer_take(written, request.patient, access=Access("chat:1", "chat"))
        sent = {"version": case.refill.version, "reason": "unsafe" if decision == "deny" else "reviewed"}
        with pytest.raises(RefillChangedMeanwhile):
            act_on(case, user, decision, sent, access=Access(f"user:{user.pk}", "admin"), is_fresh=False)
        assert RefillRequest.objects.get().outcome is None


def _needed(decision: str) -> dict[str, str]:
    return {"deny": {"reason": "unsafe"}, "close": {"outcome": "answered"}}.get(decision, {})


@pytest.mark.django_db(transaction=True)
def test_of_two_who_claim_at_once_one_has_it_and_the_other_reads_who(
    demo_committed: None, submit: Submit, login: Login
) -> None:
    request = submit(JOHNS_ALLERGY)
    start, clients = Barrier(2), [login("pharmacist"), login("physician")]
    page = page_of(request)

    def post(client: Client) -> None:
        try:
            start.wait(5)
            assert client.post(page, {"act": "claim"}).status_code == 302
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(post, clients))
    texts = sorted(said(client.get(page)) for client in clients)
    assert "yours now" in texts[0] and "has taken this" in texts[1]
    assert AuditEvent.objects.filter(what="handoff_claimed").count() == 1


class TestPassword:
    def test_a_controlled_medicine_asks_for_the_password_and_then_is_approved(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(CODEINE)
        client = login("physician")
        claim(client, request)
        assert "Enter the password" in client.get(page_of(request)).content.decode()
        assert "enter your password again first" in said(decide(client, request, "approve"))
        assert enter_password(client, request).redirect_chain[-1][0] == page_of(request)
        assert "Enter the password" not in client.get(page_of(request)).content.decode()
        send(client, request, "approve")
        request.refresh_from_db()
        assert request.outcome == "dispensed"

    def test_it_counts_for_five_minutes_only(
        self, demo: None, submit: Submit, login: Login, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = submit(CODEINE)
        client = login("physician")
        enter_password(client, request)
        later = fresh.time.time() + fresh.FRESH_SECONDS + 1
        monkeypatch.setattr(fresh.time, "time", lambda: later)
        assert needs_password(client, request)
        assert "password again first" in said(decide(client, request, "approve"))

    def test_a_wrong_password_does_not_count_and_is_recorded(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(CODEINE)
        client = login("physician")
        assert "wrong" in enter_password(client, request, "guess").content.decode()
        assert AuditEvent.objects.filter(what="password_again_failed").count() == 1
        assert needs_password(client, request)

    def test_after_five_tries_even_the_right_one_waits(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(CODEINE)
        client = login("physician", name=f"dr-{uuid4().hex[:8]}")
        for _ in range(5):
            enter_password(client, request, "guess")
        assert "Too many tries" in enter_password(client, request).content.decode()
        assert needs_password(client, request)

    def test_another_session_of_the_same_person_has_to_ask_again(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(CODEINE)
        client = login("physician")
        enter_password(client, request)
        other = Client()
        other.force_login(client.user)  # type: ignore[attr-defined]
        assert needs_password(other, request)
