"""The staff's pages of refills: who sees what, what is done with the packs, and a request for a named patient."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from prescriptions.models import (
    AuditEvent,
    OnCall,
    Patient,
    Prescription,
    RefillRequest,
)

Submit = Callable[..., RefillRequest]
Login = Callable[..., Client]
LIST = "/admin/prescriptions/refillrequest/"
JOHNS_ALLERGY, CODEINE = 12, 13
DECIDERS = ["pharmacist", "physician"]


def page_of(request: RefillRequest) -> str:
    return f"{LIST}{request.pk}/change/"


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


class TestWhoSees:
    @pytest.mark.parametrize(
        ("role", "status"),
        [
            ("pharmacist", 200),
            ("physician", 200),
            ("auditor", 200),
            ("technician", 302),
            ("administrator", 403),
        ],
    )
    def test_a_waiting_request_is_shown_to_clinical_groups_and_the_auditor(
        self, demo: None, submit: Submit, login: Login, role: str, status: int
    ) -> None:
        assert login(role).get(page_of(submit(JOHNS_ALLERGY))).status_code == status

    def test_lists_show_numbers_of_patients_and_no_names(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        text = login().get(LIST).content.decode()
        assert request.number in text and request.patient.mrn in text
        assert request.patient.name_en not in text and request.patient.name_he not in text
        assert request.patient.email not in text

    def test_lists_are_filtered_by_what_staff_look_for(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        waiting, dispensed = submit(JOHNS_ALLERGY), submit(2)
        client = login()
        for query, found in (
            ("status=waiting", waiting),
            ("status=preparing", dispensed),
            ("reason=direct_allergy", waiting),
            (f"q={dispensed.number}", dispensed),
            (f"q={waiting.patient.mrn}", waiting),
        ):
            rows = client.get(f"{LIST}?{query}").context["cl"].result_list
            assert [row.pk for row in rows] == [found.pk], query
        assert not client.get(f"{LIST}?status=ended").context["cl"].result_list

    def test_a_technician_reads_the_address_of_a_delivery_while_it_is_prepared_and_that_is_recorded(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        Patient.objects.filter(mrn="10000123").update(address="7 Herzl St., Haifa")
        delivery, waiting = submit(2, None), submit(JOHNS_ALLERGY, None)
        address = delivery.patient.address
        client = login("technician")
        assert address and address in client.get(page_of(delivery)).content.decode()
        line = AuditEvent.objects.get(what="refillrequest_address_viewed")
        assert (line.patient, line.detail) == (delivery.patient, {"row": delivery.pk})
        assert line.who == f"user:{client.user.pk}"  # type: ignore[attr-defined]
        # Before it is approved, and after it was handed over, nobody who packs needs it.
        assert "Herzl" not in client.get(page_of(waiting), follow=True).content.decode()
        for act in ("ready", "collected"):
            client.post(page_of(delivery), {"act": act})
        assert address not in client.get(page_of(delivery)).content.decode()

    def test_a_technician_reads_no_address_of_what_is_collected(
        self, refill: RefillRequest, login: Login
    ) -> None:
        assert refill.patient.address not in login("technician").get(page_of(refill)).content.decode()
        assert not AuditEvent.objects.filter(what="refillrequest_address_viewed").exists()

    def test_a_technician_sees_what_is_prepared_and_nothing_about_the_patient(
        self, refill: RefillRequest, submit: Submit, login: Login
    ) -> None:
        submit(JOHNS_ALLERGY)
        client = login("technician")
        rows = client.get(LIST).context["cl"].result_list
        assert [row.pk for row in rows] == [refill.pk]
        text = client.get(page_of(refill)).content.decode()
        patient = refill.patient
        assert refill.number in text and patient.mrn in text
        for secret in (patient.name_en, patient.name_he, patient.address, "Avrahami", "Findings"):
            assert secret not in text

    def test_each_page_shown_or_refused_is_in_the_audit_log(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        client = login()
        client.get(LIST)
        client.get(page_of(request))
        login("administrator").get(page_of(request))
        lines = AuditEvent.objects.filter(what__startswith="refillrequest_").order_by("number")
        assert [(line.what, line.patient_id) for line in lines] == [
            ("refillrequest_listed", None),
            ("refillrequest_viewed", request.patient_id),
            ("refillrequest_refused", None),
        ]

    def test_the_page_shows_the_whole_package(self, demo: None, submit: Submit, login: Login) -> None:
        OnCall.objects.all().delete()
        client = login()
        user = client.user  # type: ignore[attr-defined]
        User.objects.filter(pk=user.pk).update(first_name="Noa", last_name="Peretz")
        OnCall.objects.create(person=user, role="pharmacist")
        request = submit(JOHNS_ALLERGY)
        text = client.get(page_of(request)).content.decode()
        for part in (
            "an allergy on record to an ingredient or its class",
            "Noa Peretz",
            "Who of this role is on call there?",
            "sulfonamide",
            "waits for a decision",
            "packs needed",
            "Please decide",
            "looking for who decides",
        ):
            assert part in text, part

    def test_the_conversation_is_shown_without_what_belongs_to_others(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        from agent.conversation.events import conversation_begin, event_append

        conversation, _ = conversation_begin(language="en")
        other = Patient.objects.get(mrn="10000124")
        request = submit(JOHNS_ALLERGY, conversation_id=conversation.pk)
        for text, patient in (
            ("I need my tablets <b>now</b>", None),
            ("Mine please", request.patient),
            ("Leah was here", other),
        ):
            event_append(
                conversation_id=conversation.pk,
                type="message.completed",
                payload={"role": "user", "text": text, "lang": "en", "cards": [], "suggestions": []},
                patient=patient,
            )
        page = login().get(page_of(request)).content.decode()
        assert "I need my tablets &lt;b&gt;now&lt;/b&gt;" in page and "Mine please" in page
        assert "Leah was here" not in page

    def test_a_conversation_that_is_gone_leaves_the_page_as_it_is(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        response = login().get(page_of(submit(JOHNS_ALLERGY, conversation_id=uuid4())))
        assert response.status_code == 200 and not response.context["page"].transcript

    def test_a_failed_identity_shows_nothing_from_the_record(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        from prescriptions.refill.states import Reason

        text = login().get(page_of(submit(2, breakers=[Reason.IDENTITY_FAILED]))).content.decode()
        assert "the identity was not confirmed" in text and "Avrahami" not in text
        assert "Prescription and patient" not in text

    def test_rows_are_changed_by_nothing_else(self, refill: RefillRequest, login: Login) -> None:
        client = login()
        before = RefillRequest.objects.values().get()
        assert client.post(f"{LIST}{refill.pk}/delete/", {"post": "yes"}).status_code == 403
        client.post(page_of(refill), {"number": "R-1", "outcome": "", "_save": "1"})
        assert RefillRequest.objects.values().get() == before


class TestPacks:
    @pytest.mark.parametrize("role", ["technician", *DECIDERS])
    @pytest.mark.parametrize("last", ["collected", "returned"])
    def test_ready_and_then_collected_or_returned(
        self, refill: RefillRequest, login: Login, role: str, last: str
    ) -> None:
        client = login(role)
        for act in ("ready", last):
            client.post(page_of(refill), {"act": act})
            refill.refresh_from_db()
            assert refill.fulfilment == act

    def test_what_does_not_fit_is_said(self, refill: RefillRequest, login: Login) -> None:
        response = login("technician").post(page_of(refill), {"act": "collected"}, follow=True)
        assert "not marked as ready" in said(response)

    def test_a_technician_does_not_cancel(self, refill: RefillRequest, login: Login) -> None:
        assert login("technician").post(page_of(refill), {"act": "cancel"}).status_code == 403
        refill.refresh_from_db()
        assert refill.outcome == "dispensed"

    def test_a_pharmacist_cancels_until_it_is_ready(self, refill: RefillRequest, login: Login) -> None:
        client = login()
        client.post(page_of(refill), {"act": "cancel"})
        refill.refresh_from_db()
        assert refill.outcome == "cancelled"

    def test_too_late_is_said(self, refill: RefillRequest, login: Login) -> None:
        client = login()
        client.post(page_of(refill), {"act": "ready"})
        assert "too late" in said(client.post(page_of(refill), {"act": "cancel"}, follow=True))

    @pytest.mark.parametrize("role", ["auditor"])
    def test_an_auditor_changes_nothing(self, refill: RefillRequest, login: Login, role: str) -> None:
        assert login(role).post(page_of(refill), {"act": "ready"}).status_code == 403


class TestAtItsHandoff:
    def test_what_waits_is_decided_there_and_not_here(self, demo: None, submit: Submit, login: Login) -> None:
        request = submit(JOHNS_ALLERGY)
        client = login()
        response = client.get(page_of(request))
        link = reverse("admin:prescriptions_handoff_change", args=[request.handoff_id])
        assert link in response.content.decode() and not response.context["acts"]
        data = {"act": "decide", "version": request.version, "decision": "approve", "reason": "reviewed"}
        client.post(page_of(request), data)
        assert "waits at a hand-off" in said(client.post(page_of(request), {"act": "cancel"}, follow=True))
        assert RefillRequest.objects.get().outcome is None

    def test_a_technician_gets_no_link(self, refill: RefillRequest, login: Login) -> None:
        assert b"/handoff/1" not in login("technician").get(page_of(refill)).content


class TestForANamedPatient:
    def test_a_clinician_requests_one_and_it_is_in_their_name(self, demo: None, login: Login) -> None:
        client = login("physician")
        found = client.post(f"{LIST}add/", {"mrn": "10000101"})
        form = found.context["form"]
        assert [pk for pk, _ in form.fields["prescription"].choices] == [1, 2]
        data = {"mrn": "10000101", "key": str(uuid4()), "prescription": 2, "pickup": "1"}
        for _ in range(2):  # the same form twice is one request
            response = client.post(f"{LIST}add/", data)
            request = RefillRequest.objects.get()
            assert response["Location"] == page_of(request)
        user = client.user  # type: ignore[attr-defined]
        assert (request.requested_by, request.outcome) == (f"user:{user.pk}", "dispensed")
        assert (request.quantity, request.days_supply, request.store_id) == (60, 30, 1)

    def test_quantity_days_and_delivery(self, demo: None, login: Login) -> None:
        data = {
            "mrn": "10000101",
            "key": str(uuid4()),
            "prescription": 2,
            "quantity": 30,
            "days_supply": 15,
            "pickup": "delivery",
        }
        login().post(f"{LIST}add/", data)
        request = RefillRequest.objects.get()
        assert (request.quantity, request.days_supply, request.store_id) == (30, 15, None)

    def test_without_an_address_there_is_no_delivery(self, demo: None, login: Login) -> None:
        Patient.objects.update(address="")
        client = login()
        data = {"mrn": "10000101", "key": str(uuid4()), "prescription": 2, "pickup": "delivery"}
        response = client.post(f"{LIST}add/", data)
        assert response.context["form"].errors["pickup"] and not RefillRequest.objects.exists()

    def test_an_unknown_patient_is_said_and_recorded(self, demo: None, login: Login) -> None:
        response = login().post(f"{LIST}add/", {"mrn": "99999999"})
        assert response.context["patients"].errors["mrn"] and response.context["form"] is None
        assert AuditEvent.objects.filter(what="patient_refused").count() == 1

    def test_another_patients_prescription_is_refused(self, demo: None, login: Login) -> None:
        data = {"mrn": "10000101", "key": str(uuid4()), "prescription": 17, "pickup": "1"}
        assert login().post(f"{LIST}add/", data).context["form"].errors["prescription"]
        assert not RefillRequest.objects.exists()

    def test_a_second_request_names_the_first(self, demo: None, submit: Submit, login: Login) -> None:
        first = submit(JOHNS_ALLERGY)
        mrn = Prescription.objects.get(pk=JOHNS_ALLERGY).patient.mrn
        data = {"mrn": mrn, "key": str(uuid4()), "prescription": JOHNS_ALLERGY, "pickup": "1"}
        errors = login().post(f"{LIST}add/", data).context["form"].errors
        assert first.number in str(errors["prescription"])

    @pytest.mark.parametrize("role", ["technician", "auditor", "administrator"])
    def test_nobody_else_requests(self, demo: None, login: Login, role: str) -> None:
        assert login(role).post(f"{LIST}add/", {"mrn": "10000101"}).status_code == 403


class TestHebrew:
    def test_every_page_is_in_hebrew(self, demo: None, submit: Submit, login: Login) -> None:
        OnCall.objects.all().delete()
        client = login("physician")
        OnCall.objects.create(person=client.user, role="physician")  # type: ignore[attr-defined]
        client.cookies["django_language"] = "he"
        waiting, dispensed = submit(CODEINE), submit(2)
        texts = {
            "list": client.get(LIST).content.decode(),
            "waiting": client.get(page_of(waiting)).content.decode(),
            "dispensed": client.get(page_of(dispensed)).content.decode(),
            "new": client.post(f"{LIST}add/", {"mrn": "10000101"}).content.decode(),
            "roster": client.get(reverse("admin:prescriptions_oncall_changelist")).content.decode(),
        }
        for name, text in texts.items():
            assert 'dir="rtl"' in text, name
        for part in ("ממתינה להחלטה", "תרופה מפוקחת", "ממצאים", "רופא או רופאה"):
            assert part in texts["waiting"], part
        english = ("Findings", "Decide at", "waits for", "on call", "controlled")
        for part in english:
            assert part not in texts["waiting"], part
        assert "סימון כמוכן" in texts["dispensed"] and "Mark as ready" not in texts["dispensed"]
        assert "בקשת הניפוק" in texts["new"] or "ניפוק" in texts["new"]
