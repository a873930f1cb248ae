"""Hand-offs over HTTP: the queue, a case, claims, decisions and replies, under the rules of the staff's pages."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, connections, transaction
from django.test import Client
from django.utils import timezone

from agent.conversation import accept, events
from agent.conversation.handoff import hand_over
from agent.models import ApiKey, Conversation
from agent.web.authentication import key_issue
from inventory.models import StockLevel
from prescriptions.audit import Access
from prescriptions.connectors.registry import connectors
from prescriptions.handoffs.moves import handoff_move
from prescriptions.handoffs.services import handoff_claim, handoff_close
from prescriptions.models import (
    AuditEvent,
    Handoff,
    OnCall,
    Patient,
    Prescription,
    RefillRequest,
    RefillTransition,
)
from prescriptions.refill import services
from prescriptions.refill.collection import collection_begin, collection_give_up
from prescriptions.refill.questions import questions_of
from prescriptions.refill.states import Reason
from stores.models import Store

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/handoffs/"
LEAH, JOHN = "10000124", "10000123"
IBUPROFEN, ALLERGY, CODEINE, ADALIMUMAB, METFORMIN = 17, 12, 13, 14, 2


class System:
    """A system with a key that acts on behalf of a member of staff."""

    def __init__(self, client: Client, user: User) -> None:
        self.client, self.user = client, user
        self.key = key_issue(name=f"for {user.username}", scopes=["handoffs"], user=user)
        self.row = ApiKey.objects.get(user=user)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}", **more}

    def get(self, path: str = "", **query: Any) -> Any:
        return self.client.get(ADDRESS + path, query, headers=self._headers({}))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        content = "" if body is None else json.dumps(body)
        return self.client.post(
            ADDRESS + path, content, content_type="application/json", headers=self._headers(headers)
        )

    def claim(self, handoff: Handoff) -> Any:
        return self.post(f"{handoff.number}/claim/")

    def decide(self, handoff: Handoff, decision: str, reason: str = "", **more: Any) -> Any:
        return self.post(f"{handoff.number}/decide/", {"decision": decision, "reason": reason, **more})

    def reply(self, handoff: Handoff, text: str, seen_seq: int, **headers: str) -> Any:
        return self.post(f"{handoff.number}/reply/", {"text": text, "seen_seq": seen_seq}, **headers)


def person(name: str, role: str) -> User:
    user = User.objects.create_user(
        name, first_name=name.title(), last_name="Levi", email=f"{name}@example.com", is_staff=True
    )
    user.groups.add(Group.objects.get(name=role))
    return user


@pytest.fixture
def system(demo: None, client: Client, settings: Any) -> Callable[..., System]:
    rates = {"DEFAULT_THROTTLE_RATES": {"key": "1000000/min"}}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **rates}
    connectors.cache_clear()
    OnCall.objects.all().delete()
    return lambda name="dana", role="pharmacist": System(client, person(name, role))


def refill(prescription_id: int, store: int | None = 1, **more: Any) -> Handoff:
    """The hand-off of a refill that goes to a person."""
    prescription = Prescription.objects.select_related("patient").get(pk=prescription_id)
    options = {"access": Access(who="key:999", where="tests"), "language": "en", **more}
    made = services.refill_submit(
        patient=prescription.patient,
        prescription_id=prescription_id,
        store=Store.objects.get(pk=store) if store else None,
        **options,
    )
    assert made.handoff is not None
    return made.handoff


def talking(mrn: str | None = LEAH) -> tuple[Conversation, Handoff]:
    """A conversation that waits for a person."""
    conversation, _secret = events.conversation_begin(language="en")
    patient = Patient.objects.get(mrn=mrn) if mrn else None
    if patient:
        Conversation.objects.filter(pk=conversation.pk).update(patient=patient, verified_at=timezone.now())
        conversation.refresh_from_db()
    handoff = hand_over(conversation, reason="customer_asked", run_key=str(uuid.uuid4()), patient=patient)
    return conversation, handoff


def write(conversation: Conversation, text: str) -> int:
    return accept.message_accept(
        conversation_id=conversation.pk, client_msg_id=uuid.uuid4(), text=text, address="192.0.2.1"
    ).seq


def refill_of(handoff: Handoff) -> RefillRequest:
    return RefillRequest.objects.get(handoff__number=handoff.number)


class TestKeys:
    @pytest.mark.parametrize("path", ["", "H-1001/", "H-1001/claim/", "H-1001/decide/", "H-1001/reply/"])
    @pytest.mark.parametrize("scopes", [["tools"], ["patients"], ["tools", "patients"]])
    def test_another_scope_is_refused(self, client: Client, path: str, scopes: list[str]) -> None:
        headers = {"authorization": f"Bearer {key_issue(name='x', scopes=scopes)}"}
        send = client.get if path.count("/") < 2 else client.post
        assert send(ADDRESS + path, headers=headers).status_code == 403

    def test_without_a_key_nothing_is_shown(self, client: Client) -> None:
        assert client.get(ADDRESS).status_code == 401

    def test_a_key_acts_for_who_still_works_here(self, system: Callable[..., System]) -> None:
        dana = system()
        assert dana.get().status_code == 200
        for changes in ({"is_active": False}, {"is_staff": False}, {"is_superuser": True}):
            User.objects.filter(pk=dana.user.pk).update(**changes)
            assert dana.get().status_code == 403, changes
            User.objects.filter(pk=dana.user.pk).update(is_active=True, is_staff=True, is_superuser=False)
        dana.user.groups.clear()
        assert dana.get().status_code == 403

    def test_an_auditor_reads_and_changes_nothing(self, system: Callable[..., System]) -> None:
        handoff, auditor = refill(IBUPROFEN), system("ada", "auditor")
        assert auditor.get(f"{handoff.number}/").status_code == 200
        assert auditor.claim(handoff).status_code == 403
        handoff.refresh_from_db()
        assert handoff.state == "open"


class TestQueue:
    def test_it_lists_what_the_person_may_see_urgent_and_old_first(
        self, system: Callable[..., System]
    ) -> None:
        early, urgent, controlled = refill(ADALIMUMAB), refill(IBUPROFEN), refill(CODEINE)
        numbers = [row["number"] for row in system().get().json()["results"]]
        assert controlled.contact == "physician"
        assert numbers == [urgent.number, early.number]
        assert len(system("omer", "physician").get().json()["results"]) == 3

    def test_a_row_names_no_patient_until_it_is_claimed(self, system: Callable[..., System]) -> None:
        handoff, dana = refill(IBUPROFEN), system()
        text = dana.get().content.decode()
        [row] = json.loads(text)["results"]
        assert LEAH not in text and "Leah" not in text and row["patient_id"] is None
        assert (row["state"], row["reason"], row["why"], row["urgent"]) == (
            "open",
            "refill",
            "major_interaction",
            True,
        )
        assert row["refill"] == refill_of(handoff).number and row["claimed_by"] is None
        dana.claim(handoff)
        [row] = dana.get().json()["results"]
        assert (row["patient_id"], row["claimed_by"], row["state"]) == (LEAH, "Dana Levi", "claimed")

    @pytest.mark.parametrize("state", ["open", "claimed", "decided", "closed"])
    def test_it_is_filtered_by_state(self, system: Callable[..., System], state: str) -> None:
        dana, rows = (
            system(),
            {name: refill(pk) for name, pk in (("open", ADALIMUMAB), ("claimed", IBUPROFEN))},
        )
        dana.claim(rows["claimed"])
        rows["decided"] = refill(ALLERGY)
        dana.claim(rows["decided"])
        assert dana.decide(rows["decided"], "deny", "unsafe").status_code == 200
        _conversation, rows["closed"] = talking()
        handoff_close(handoff=rows["closed"], access=Access("user:1", "tests"))
        found = dana.get(state=state).json()
        assert [row["number"] for row in found["results"]] == [rows[state].number] and found["count"] == 1

    def test_another_state_is_a_400_and_pages_are_linked(self, system: Callable[..., System]) -> None:
        dana = system()
        refill(IBUPROFEN), refill(ADALIMUMAB)
        assert dana.get(state="urgent").json()["errors"][0]["field"] == "state"
        first = dana.get(limit=1).json()
        assert first["count"] == 2 and len(first["results"]) == 1 and "offset=1" in first["next"]

    def test_a_look_at_it_is_recorded_with_person_and_key(self, system: Callable[..., System]) -> None:
        handoff, dana = refill(IBUPROFEN), system()
        dana.get()
        line = AuditEvent.objects.get(what="handoffs_listed")
        assert line.who == f"user:{dana.user.pk}" and line.where == f"http:handoffs:key:{dana.row.pk}"
        assert line.detail == {"handoffs": [handoff.number], "patients": [handoff.patient_id]}


class TestCase:
    def test_it_has_the_package_and_the_conversation(self, system: Callable[..., System]) -> None:
        conversation, _other = talking()
        write(conversation, "hello, is anybody there?")
        handoff = refill(IBUPROFEN, conversation_id=conversation.pk)
        dana = system()
        response = dana.get(f"{handoff.number}/")
        case = response.json()
        assert response["Cache-Control"] == "no-store"
        assert case["package"]["prescription"]["id"] == IBUPROFEN and case["package"]["allergies"]
        assert "waits for" in case["note"]["en"] and case["patient"] is None
        assert [said["text"] for said in case["messages"]] == ["hello, is anybody there?"]
        assert case["last_seq"] == case["messages"][-1]["seq"]
        line = AuditEvent.objects.filter(what="handoff_viewed").latest("number")
        assert (line.patient, line.detail) == (Patient.objects.get(mrn=LEAH), {"handoff": handoff.number})

    def test_whoever_claimed_it_reads_who_it_is(self, system: Callable[..., System]) -> None:
        handoff, dana = refill(IBUPROFEN), system()
        case = dana.claim(handoff).json()
        assert case["patient"]["patient_id"] == LEAH and case["patient"]["email"]

    @pytest.mark.parametrize("path", ["", "claim/", "decide/", "reply/"])
    def test_what_is_not_theirs_to_see_does_not_exist(self, system: Callable[..., System], path: str) -> None:
        handoff, dana = refill(CODEINE), system()
        bodies = {
            "decide/": {"decision": "deny", "reason": "unsafe"},
            "reply/": {"text": "hello", "seen_seq": 0},
        }
        for number in (handoff.number, "H-999999"):
            send = dana.post if path else dana.get
            arguments = [bodies[path]] if path in bodies else []
            response = send(f"{number}/{path}", *arguments)
            assert (response.status_code, response.json()["detail"]) == (404, "There is no such hand-off.")
        assert AuditEvent.objects.filter(what="handoff_refused").count() == 2


class TestClaim:
    def test_it_can_be_claimed_once_and_the_other_is_told_by_whom(
        self, system: Callable[..., System]
    ) -> None:
        handoff, dana, noa = refill(IBUPROFEN), system(), system("noa")
        assert dana.claim(handoff).json()["state"] == "claimed"
        refused = noa.claim(handoff)
        assert (refused.status_code, refused.json()["claimed_by"]) == (409, "Dana Levi")
        assert dana.claim(handoff).status_code == 200
        line = AuditEvent.objects.get(what="handoff_claimed")
        assert (line.who, line.where) == (f"user:{dana.user.pk}", f"http:handoffs:key:{dana.row.pk}")

    def test_what_is_over_is_not_claimed(self, system: Callable[..., System]) -> None:
        handoff, dana = refill(IBUPROFEN), system()
        handoff_close(handoff=handoff, access=Access("user:1", "tests"))
        refused = dana.claim(handoff)
        assert (refused.status_code, refused.json()["code"]) == (409, "over")


class TestDecide:
    @pytest.fixture
    def dana(self, system: Callable[..., System]) -> System:
        return system()

    def claimed(self, dana: System, prescription: int, **more: Any) -> Handoff:
        handoff = refill(prescription, **more)
        assert dana.claim(handoff).status_code == 200
        return handoff

    def test_an_approval_dispenses(self, dana: System) -> None:
        handoff = self.claimed(dana, ALLERGY)
        response = dana.decide(handoff, "approve", "reviewed", note="spoke to the prescriber")
        assert (response.status_code, response.json()["state"], response.json()["outcome"]) == (
            200,
            "decided",
            "approved",
        )
        request = RefillRequest.objects.get()
        assert request.outcome == "dispensed"
        step = RefillTransition.objects.get(event="approved")
        assert step.actor == f"user:{dana.user.pk}"
        assert (step.detail["reason"], step.detail["note"]) == ("reviewed", "spoke to the prescriber")
        line = AuditEvent.objects.filter(what="handoff_decided").get()
        assert line.where == f"http:handoffs:key:{dana.row.pk}"

    def test_a_denial_needs_a_reason_and_keeps_one_in_words_as_a_note(self, dana: System) -> None:
        handoff = self.claimed(dana, IBUPROFEN)
        assert dana.decide(handoff, "deny").json()["errors"][0]["field"] == "reason"
        assert dana.decide(handoff, "deny", "she bleeds easily").status_code == 200
        step = RefillTransition.objects.get(event="deny")
        assert (step.detail["reason"], step.detail["note"]) == ("other", "she bleeds easily")
        assert RefillRequest.objects.get().outcome == "denied"

    def test_another_quantity(self, dana: System) -> None:
        handoff = self.claimed(dana, ALLERGY)
        units = refill_of(handoff).quantity
        for wrong in (None, 0, units + 1):
            more = {} if wrong is None else {"quantity": wrong}
            assert dana.decide(handoff, "change_quantity", "reviewed", **more).status_code == 400, wrong
        assert dana.decide(handoff, "change_quantity", "reviewed", quantity=units // 2).status_code == 200
        assert RefillRequest.objects.get().quantity == units // 2

    def test_prior_authorisation_needs_the_reference(self, dana: System) -> None:
        handoff = self.claimed(dana, ADALIMUMAB)
        assert dana.decide(handoff, "approve", "authorised").json()["errors"][0]["field"] == "reference"
        assert dana.decide(handoff, "approve", "authorised", reference="PA-7/2026").status_code == 200
        assert RefillRequest.objects.get().outcome == "dispensed"

    def test_a_question_reaches_the_customer_in_their_language(self, dana: System) -> None:
        handoff = self.claimed(dana, IBUPROFEN)
        assert dana.decide(handoff, "ask").json()["errors"][0]["field"] == "note"
        assert dana.decide(handoff, "ask", note="מתי נטלת?").json()["errors"][0]["field"] == "note"
        response = dana.decide(handoff, "ask", "to be sure", note="When did you last take it?")
        assert (response.status_code, response.json()["state"]) == (200, "claimed")
        assert questions_of(refill_of(handoff))[0]["question"] == "When did you last take it?"

    def test_passed_on_to_the_next_role_it_is_seen_here_no_more(self, dana: System) -> None:
        handoff = self.claimed(dana, IBUPROFEN)
        response = dana.decide(handoff, "pass_on", "needs a physician", note="see the labs")
        assert response.status_code == 200
        body = response.json()
        assert (body["role"], body["state"], body["package"], body["messages"]) == (
            "physician",
            "open",
            None,
            [],
        )
        handoff.refresh_from_db()
        assert handoff.package["notes"][0]["text"] == "needs a physician\nsee the labs"
        assert dana.get(f"{handoff.number}/").status_code == 404

    def test_a_repetition_after_passing_it_on_gets_the_first_response(self, dana: System) -> None:
        handoff, key = self.claimed(dana, IBUPROFEN), {"Idempotency-Key": "p-1"}
        path, body = f"{handoff.number}/decide/", {"decision": "pass_on", "reason": "needs a physician"}
        first, again = (dana.post(path, body, **key) for _ in range(2))
        assert (first.status_code, again.status_code) == (200, 200)
        assert first.content == again.content
        other = dana.post(path, body, **{"Idempotency-Key": "p-2"})
        assert other.status_code == 404 and other.json()["detail"] == "There is no such hand-off."

    def test_passed_on_to_a_person(self, dana: System) -> None:
        handoff, omer = self.claimed(dana, IBUPROFEN), person("omer", "physician")
        wrong = dana.decide(handoff, "pass_on", role="physician", person="nobody")
        assert wrong.json()["errors"][0]["field"] == "role"
        assert dana.decide(handoff, "pass_on", role="technician").status_code == 400
        assert dana.decide(handoff, "pass_on", role="physician", person="omer").status_code == 200
        handoff.refresh_from_db()
        assert handoff.contact_person == omer

    def test_closed_with_how_it_ended(self, dana: System) -> None:
        _conversation, handoff = talking()
        dana.claim(handoff)
        response = dana.decide(handoff, "close", "by_phone")
        assert (response.json()["state"], response.json()["outcome"]) == ("closed", "by_phone")
        assert dana.decide(handoff, "close", "by_phone").status_code == 409

    def test_what_is_no_refill_is_not_approved(self, dana: System) -> None:
        _conversation, handoff = talking()
        dana.claim(handoff)
        assert dana.decide(handoff, "approve", "reviewed").json()["errors"][0]["field"] == "decision"

    def test_only_whoever_claimed_it_decides(self, dana: System, system: Callable[..., System]) -> None:
        handoff = refill(IBUPROFEN)
        refused = dana.decide(handoff, "deny", "unsafe")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_claimed")
        dana.claim(handoff)
        refused = system("noa").decide(handoff, "deny", "unsafe")
        assert (refused.status_code, refused.json()["claimed_by"]) == (409, "Dana Levi")
        assert RefillRequest.objects.get().outcome is None

    def test_nobody_decides_a_request_of_their_own(self, dana: System) -> None:
        handoff = refill(IBUPROFEN, access=Access(f"user:{dana.user.pk}", "tests"))
        dana.claim(handoff)
        refused = dana.decide(handoff, "deny", "unsafe")
        assert (refused.status_code, refused.json()["code"]) == (403, "own_request")
        assert RefillRequest.objects.get().outcome is None

    @pytest.mark.parametrize("decision", ["approve", "change_quantity", "deny", "close"])
    def test_a_controlled_medicine_is_not_decided_here(
        self, system: Callable[..., System], decision: str
    ) -> None:
        omer, handoff = system("omer", "physician"), refill(CODEINE)
        assert omer.claim(handoff).json()["schedule"] == "III"
        refused = omer.decide(handoff, decision, "reviewed", quantity=1)
        assert (refused.status_code, refused.json()["code"]) == (403, "fresh_sign_in_needed")
        handoff.refresh_from_db()
        assert (handoff.state, RefillRequest.objects.get().outcome) == ("claimed", None)

    def test_a_place_that_nobody_named_is_set_here(self, dana: System) -> None:
        prescription = Prescription.objects.select_related("patient").get(pk=METFORMIN)
        access = Access(who="chat:1", where="chat")
        begun = collection_begin(
            patient=prescription.patient,
            prescription_id=METFORMIN,
            access=access,
            language="en",
            conversation_id=uuid.uuid4(),
        )
        request = services.refill_walk(collection_give_up(begun, Reason.MAX_ATTEMPTS, access=access))
        assert request.handoff is not None
        dana.claim(request.handoff)
        for more in ({}, {"pickup": 101}, {"pickup": 999_999}):
            refused = dana.decide(request.handoff, "approve", "reviewed", **more)
            assert refused.json()["errors"][0]["field"] == "pickup", more
        assert dana.decide(request.handoff, "approve", "reviewed", pickup="delivery").status_code == 200
        request.refresh_from_db()
        assert (request.outcome, request.pickup) == ("dispensed", "delivery")

    def test_an_approval_that_is_stopped_again_opens_another_hand_off(self, dana: System) -> None:
        handoff = self.claimed(dana, ALLERGY)
        StockLevel.objects.update(quantity=0)
        assert dana.decide(handoff, "approve", "reviewed").json()["outcome"] == "approved"
        request = RefillRequest.objects.get()
        assert request.outcome is None and request.reason == "out_of_stock"
        assert request.handoff is not None and request.handoff.number != handoff.number

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"decision": "sell"}, "decision"),
            ({}, "decision"),
            ({"decision": "deny", "reason": 7}, "reason"),
            ({"decision": "deny", "reason": "x" * 501}, "reason"),
            ({"decision": "approve", "quantity": "many"}, "quantity"),
            ({"decision": "approve", "is_fresh": True}, "is_fresh"),
        ],
    )
    def test_what_breaks_the_schema_is_a_400(self, dana: System, body: Any, field: str) -> None:
        handoff = self.claimed(dana, IBUPROFEN)
        response = dana.post(f"{handoff.number}/decide/", body)
        assert response.status_code == 400
        assert field in [one["field"] for one in response.json()["errors"]]


class TestReply:
    def test_it_reaches_the_conversation(self, system: Callable[..., System]) -> None:
        dana, (conversation, handoff) = system(), talking()
        seen = write(conversation, "hello?")
        dana.claim(handoff)
        response = dana.reply(handoff, "Hello, this is Dana.", seen)
        assert response.status_code == 201
        [said] = [
            event.payload
            for event in conversation.events.filter(seq=response.json()["seq"], type="message.completed")
        ]
        assert (said["role"], said["text"], said["author"]) == ("staff", "Hello, this is Dana.", "Dana Levi")
        assert AuditEvent.objects.get(what="handoff_replied").where == f"http:handoffs:key:{dana.row.pk}"

    def test_it_is_refused_when_the_customer_wrote_meanwhile(self, system: Callable[..., System]) -> None:
        dana, (conversation, handoff) = system(), talking()
        seen = write(conversation, "hello?")
        dana.claim(handoff)
        later = write(conversation, "it is urgent")
        refused = dana.reply(handoff, "Hello", seen)
        assert (refused.status_code, refused.json()["last_seq"]) == (409, later)
        assert not conversation.events.filter(payload__role="staff").exists()
        assert (
            dana.reply(handoff, "Hello", dana.get(f"{handoff.number}/").json()["last_seq"]).status_code == 201
        )

    def test_what_was_read_in_an_earlier_conversation_counts_for_nothing(
        self, system: Callable[..., System]
    ) -> None:
        dana, (first, handoff) = system(), talking()
        for text in ("hello?", "anybody?", "please"):
            seen = write(first, text)
        dana.claim(handoff)
        second, _secret = events.conversation_begin(language="en")
        with transaction.atomic():
            handoff_move(Handoff.objects.select_for_update(of=("self",)).get(pk=handoff.pk), second.pk)
        later = write(second, "Here I am now")
        path = f"{handoff.number}/reply/"
        for more in ({}, {"conversation": None}, {"conversation": str(first.pk)}):
            refused = dana.post(path, {"text": "Hello", "seen_seq": seen + 99, **more})
            assert (refused.status_code, refused.json()["last_seq"]) == (409, later)
        case = dana.get(f"{handoff.number}/").json()
        assert (case["conversation"], case["last_seq"]) == (str(second.pk), later)
        read = {"seen_seq": case["last_seq"], "conversation": case["conversation"]}
        assert dana.post(path, {"text": "Hello", **read}).status_code == 201
        assert dana.post(path, {"text": "Hello", **read, "conversation": "x"}).status_code == 400

    def test_only_whoever_claimed_it_writes(self, system: Callable[..., System]) -> None:
        dana, noa, (_conversation, handoff) = system(), system("noa"), talking()
        assert dana.reply(handoff, "Hello", 99).json()["code"] == "not_claimed"
        dana.claim(handoff)
        refused = noa.reply(handoff, "Hello", 99)
        assert (refused.status_code, refused.json()["claimed_by"]) == (409, "Dana Levi")

    def test_a_refill_without_a_conversation_has_nobody_to_write_to(
        self, system: Callable[..., System]
    ) -> None:
        dana, handoff = system(), refill(IBUPROFEN)
        dana.claim(handoff)
        refused = dana.reply(handoff, "Hello", 0)
        assert (refused.status_code, refused.json()["code"]) == (409, "no_conversation")

    @pytest.mark.parametrize("text", ["", "   ", "x" * 4_001])
    def test_an_empty_or_endless_text_is_a_400(self, system: Callable[..., System], text: str) -> None:
        dana, (_conversation, handoff) = system(), talking()
        dana.claim(handoff)
        assert dana.reply(handoff, text, 0).json()["errors"][0]["field"] == "text"

    def test_the_same_key_writes_once(self, system: Callable[..., System]) -> None:
        dana, (conversation, handoff) = system(), talking()
        dana.claim(handoff)
        answers = [dana.reply(handoff, "Hello", 0, **{"Idempotency-Key": "r-1"}) for _ in range(2)]
        assert [one.status_code for one in answers] == [201, 201]
        assert answers[0].content == answers[1].content
        assert conversation.events.filter(payload__role="staff").count() == 1
        other = dana.reply(handoff, "Something else", 0, **{"Idempotency-Key": "r-1"})
        assert other.status_code == 422


@pytest.mark.django_db(transaction=True)
def test_a_decision_holds_no_transaction_while_others_are_called(
    demo_committed: None, client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    OnCall.objects.all().delete()
    dana, handoff = System(client, person("dana", "pharmacist")), refill(ALLERGY)
    dana.claim(handoff)
    walk, open_then = services.refill_walk, []

    def noted(request: RefillRequest) -> RefillRequest:
        open_then.append(connection.in_atomic_block)
        return walk(request)

    monkeypatch.setattr(services, "refill_walk", noted)
    assert dana.decide(handoff, "approve", "reviewed").status_code == 200
    assert open_then == [False]


def test_who_gave_up_a_hand_off_decides_no_more(system: Callable[..., System]) -> None:
    """A claim that ended meanwhile counts no longer, though its holder was the last to see the case."""
    handoff, dana, noa = refill(IBUPROFEN), system(), system("noa")
    dana.claim(handoff)
    Handoff.objects.filter(pk=handoff.pk).update(
        state="open", claimed_by=None, claimed_at=None, claim_until=None
    )
    handoff_claim(handoff, noa.user, access=Access("user:1", "tests"))
    assert dana.decide(handoff, "deny", "unsafe").json()["claimed_by"] == "Noa Levi"


def test_a_technician_reads_what_was_said_and_no_record(system: Callable[..., System]) -> None:
    conversation, _secret = events.conversation_begin(language="en")
    leah = Patient.objects.get(mrn=LEAH)
    Conversation.objects.filter(pk=conversation.pk).update(patient=leah, verified_at=timezone.now())
    conversation.refresh_from_db()
    handoff = hand_over(conversation, reason="stock", run_key=str(uuid.uuid4()), patient=leah)
    write(conversation, "when will you have it again?")
    tom = system("tom", "technician")
    case = tom.claim(handoff).json()
    assert (case["role"], case["package"], case["patient"], case["patient_id"]) == (
        "technician",
        None,
        None,
        None,
    )
    assert [said["text"] for said in case["messages"]] == ["when will you have it again?"]
    assert tom.get(f"{refill(IBUPROFEN).number}/").status_code == 404


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do these at the same time, each with a connection of its own."""
    start = Barrier(len(works))

    def one(work: Callable[[], Any]) -> Any:
        try:
            start.wait(5)
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(one, work) for work in works]]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_claim_at_once_one_gets_it(demo_committed: None, settings: Any) -> None:
    OnCall.objects.all().delete()
    handoff = refill(IBUPROFEN)
    dana, noa = (System(Client(), person(name, "pharmacist")) for name in ("dana", "noa"))
    answers = at_once(lambda: dana.claim(handoff), lambda: noa.claim(handoff))
    assert sorted(one.status_code for one in answers) == [200, 409]
    handoff.refresh_from_db()
    [refused] = [one.json() for one in answers if one.status_code == 409]
    assert handoff.claimed_by is not None and refused["claimed_by"] == handoff.claimed_by.get_full_name()


@pytest.mark.django_db(transaction=True)
def test_a_reply_that_is_sent_twice_at_once_is_written_once(demo_committed: None) -> None:
    conversation, handoff = talking()
    dana = System(Client(), person("dana", "pharmacist"))
    dana.claim(handoff)
    same = {"Idempotency-Key": "r-1"}
    answers = at_once(*[lambda: dana.reply(handoff, "Hello", 0, **same)] * 4)
    assert {(one.status_code, one.content) for one in answers} == {(201, answers[0].content)}
    assert conversation.events.filter(payload__role="staff").count() == 1
