"""The staff's queue of hand-offs and the page of a case: who sees and does what, and what is recorded of it."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agent.conversation.events import conversation_begin, event_append
from agent.models import Event, Run, ToolCall
from inventory.models import Medication
from prescriptions.cases.looked_up import facts_shown
from prescriptions.cases.templates import on_post_migrate
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.handoffs.moves import handoff_move
from prescriptions.handoffs.services import handoff_close, handoff_open, handoffs_mark_urgent
from prescriptions.models import (
    Allergy,
    AuditEvent,
    Handoff,
    Patient,
    Prescription,
    RefillRequest,
    ReplyTemplate,
)
from stores.models import Store

Submit = Callable[..., RefillRequest]
Login = Callable[..., Client]
LIST = "/admin/prescriptions/handoff/"
JOHNS_ALLERGY, CODEINE, IBUPROFEN = 12, 13, 17
ROLES = ["technician", "pharmacist", "physician", "auditor", "administrator"]


def opened(reason: str = "customer_asked", **more: Any) -> Handoff:
    given: dict[str, Any] = {"conversation_id": uuid4(), "run_key": str(uuid4()), "language": "en"} | more
    return handoff_open(reason=reason, **given)


def talk(patient: Patient | None = None, *texts: str, role: str = "user") -> UUID:
    conversation, _secret = conversation_begin(language="en")
    for text in texts:
        write(conversation.pk, text, patient, role)
    return conversation.pk


def write(
    conversation: UUID, text: str, patient: Patient | None = None, role: str = "user", **more: Any
) -> int:
    payload = {"role": role, "text": text, "lang": "en", "cards": [], "suggestions": [], **more}
    written = event_append(
        conversation_id=conversation, type="message.completed", payload=payload, patient=patient
    )
    return written["seq"]


def page(handoff: Handoff) -> str:
    return f"{LIST}{handoff.pk}/change/"


def send(client: Client, handoff: Handoff, act: str, *, follow: bool = False, **data: Any) -> Any:
    """Do something on the page of a case, without a look at the page that it leads to, which takes most of the time."""
    return client.post(page(handoff), {"act": act, **data}, follow=follow)


def post(client: Client, handoff: Handoff, act: str, **data: Any) -> Any:
    """Do something on the page of a case, and return the page that it leads to."""
    return send(client, handoff, act, follow=True, **data)


def html(client: Client, url: str) -> str:
    return client.get(url).content.decode()


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def rows(client: Client, query: str = "") -> list[str]:
    return [row.number for row in client.get(f"{LIST}?{query}").context["page"].rows]


def me(client: Client) -> User:
    return client.user  # type: ignore[attr-defined, no-any-return]


class TestWho:
    """T9: what each group may do with a hand-off for a pharmacist, and with one for a technician."""

    ADDRESSES = ("", "rows/", "{pk}/change/", "{pk}/live/", "{pk}/password/")
    ACTS = ("claim", "release", "approve", "deny", "change_quantity", "ask", "pass_on", "close", "reply")

    @pytest.mark.parametrize("role", ROLES)
    @pytest.mark.parametrize("reason", ["customer_asked", "stock"])
    def test_each_address_is_seen_by_its_groups(self, db: None, login: Login, role: str, reason: str) -> None:
        client, handoff = login(role), opened(reason)
        found = [client.get(LIST + part.format(pk=handoff.pk)).status_code for part in self.ADDRESSES]
        listing = role != "administrator"
        own = role in {"pharmacist", "physician"} or (role, reason) == ("technician", "stock")
        seen = own or role == "auditor"
        # A page of somebody else's hand-off is as good as not there.
        other = 302 if listing else 403
        assert found == [
            200 if listing else 403,
            200 if listing else 403,
            200 if seen else other,
            200 if seen else 403,
            200 if own else 403,
        ]
        if listing:
            assert rows(client) == ([handoff.number] if seen else [])

    @pytest.mark.parametrize("part", ["rows/", "{pk}/live/", "{pk}/password/"])
    def test_what_is_refused_beside_the_pages_is_recorded(self, db: None, login: Login, part: str) -> None:
        client, handoff = login("administrator"), opened()
        assert client.get(LIST + part.format(pk=handoff.pk)).status_code == 403
        [refused] = AuditEvent.objects.filter(what="handoff_refused")
        assert (refused.who, refused.where) == (f"user:{me(client).pk}", "admin")

    @pytest.mark.parametrize("role", ROLES)
    @pytest.mark.parametrize("prescription", [JOHNS_ALLERGY, CODEINE])
    def test_each_act_is_done_by_its_groups_only(
        self, demo: None, submit: Submit, login: Login, role: str, prescription: int
    ) -> None:
        """Every act is sent, as from a page that was kept: none without a claim changes anything, for nobody."""
        request = submit(prescription)
        handoff = request.handoff
        assert handoff
        client = login(role)
        more = {"version": request.version, "reason": "unsafe", "quantity": 1, "question": "Did you take it?"}
        more |= {"to": "physician", "outcome": "answered", "text": "Hello", "seen_seq": 99}
        for act in self.ACTS[1:]:
            send(client, handoff, act, **more)
        handoff.refresh_from_db()
        request.refresh_from_db()
        assert (handoff.state, request.outcome) == ("open", None)
        send(client, handoff, "claim")
        handoff.refresh_from_db()
        may = role == "physician" or (role == "pharmacist" and prescription == JOHNS_ALLERGY)
        assert (handoff.claimed_by == me(client)) is may

    @pytest.mark.parametrize("role", ROLES)
    def test_no_group_changes_rows_by_the_lists_actions(self, db: None, login: Login, role: str) -> None:
        handoff = opened("stock")
        before = Handoff.objects.values().get()
        for action in ("delete_selected", "close"):
            login(role, name=f"{role}-{action}").post(
                LIST, {"action": action, "_selected_action": [handoff.pk]}
            )
        assert Handoff.objects.values().get() == before

    def test_a_superuser_takes_nothing(self, db: None, login: Login) -> None:
        handoff = opened()
        client = login()
        User.objects.filter(pk=me(client).pk).update(is_superuser=True)
        send(client, handoff, "claim")
        handoff.refresh_from_db()
        assert handoff.state == "open"

    def test_nobody_reads_of_a_claim_of_others_whose_patient_it_is(self, demo: None, login: Login) -> None:
        patient = Patient.objects.get(mrn="10000101")
        handoff = opened(patient=patient)
        holder, others = login(), [login("physician"), login("auditor")]
        secrets = (patient.name_en, patient.email, patient.mrn)

        def read(client: Client) -> str:
            return html(client, LIST) + html(client, f"{LIST}rows/") + html(client, page(handoff))

        for client in (holder, *others):
            assert not [secret for secret in secrets if secret in read(client)]
        send(holder, handoff, "claim")
        assert not [secret for secret in secrets if secret not in read(holder)]
        for client in others:
            assert not [secret for secret in secrets if secret in read(client)]

    def test_a_technician_reads_what_was_written_and_not_the_record(self, demo: None, login: Login) -> None:
        patient = Patient.objects.get(mrn="10000101")
        Allergy.objects.create(patient=patient, drug_class="penicillin", severity="severe")
        conversation = talk(patient, "Where is my parcel?")
        write(conversation, "You take Metformin.", patient, "assistant")
        handoff = opened("pickup", patient=patient, conversation_id=conversation)
        client = login("technician")
        before = html(client, page(handoff))
        assert "Where is my parcel?" not in before and patient.name_en not in before
        send(client, handoff, "claim")
        after = html(client, page(handoff))
        assert "Where is my parcel?" in after and patient.name_en in after
        for secret in ("Metformin", "penicillin", patient.email, patient.mrn):
            assert secret not in after

    def test_of_a_failed_identity_only_what_was_typed_is_shown(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        from prescriptions.refill.states import Reason

        request = submit(2, breakers=[Reason.IDENTITY_FAILED])
        client = login()
        assert request.handoff
        send(client, request.handoff, "claim")
        text = html(client, page(request.handoff))
        assert "identity not confirmed" in text
        for secret in ("Avrahami", request.patient.email, request.patient.mrn, "Earlier hand-offs"):
            assert secret not in text

    def test_of_several_who_failed_each_message_is_shown_once_with_its_conversation(
        self, db: None, login: Login
    ) -> None:
        first, second = talk(None, "I am David"), talk(None, "So am I")
        for conversation in (first, second):
            handoff = handoff_open_for_contact(contact_key="k", conversation_id=conversation, language="en")
        client = login()
        send(client, handoff, "claim")
        case = client.get(page(handoff)).context["case"]
        read = [(one.text, one.elsewhere, bool(one.seq)) for one in case.transcript]
        assert read == [("So am I", str(second)[:8], False), ("I am David", "", True)]
        text = html(client, page(handoff))
        assert f"another conversation <bdi>{str(second)[:8]}</bdi>" in text
        assert f'<bdi id="desk-reply-to">{str(first)[:8]}</bdi>' in text


class TestQueue:
    def test_urgent_first_then_the_oldest_and_what_is_over_last(self, db: None, login: Login) -> None:
        over, old, new, dose = opened(), opened(), opened("unverifiable"), opened("extra_dose")
        from prescriptions.audit import Access

        handoff_close(handoff=over, access=Access("user:1", "admin"), outcome="answered")
        client = login()
        assert rows(client, "view=all") == [dose.number, old.number, new.number, over.number]
        assert rows(client) == [dose.number, old.number, new.number]

    def test_saved_views_are_addresses(self, demo: None, submit: Submit, login: Login) -> None:
        controlled = submit(CODEINE).handoff
        late, mine = opened(), opened()
        assert controlled
        Handoff.objects.filter(pk=late.pk).update(claim_due_at=timezone.now() - timedelta(minutes=1))
        client = login("physician")
        send(client, mine, "claim")
        found = {
            view: rows(client, f"view={view}") for view in ("mine", "breaching", "controlled", "unclaimed")
        }
        assert found == {
            "mine": [mine.number],
            "breaching": [late.number],
            "controlled": [controlled.number],
            "unclaimed": [controlled.number, late.number],
        }
        counts = client.get(LIST).context["page"].counts
        assert counts == {"open": 3, "unclaimed": 2, "mine": 1, "breaching": 1, "controlled": 1}

    @pytest.mark.parametrize(
        "query", ["view=no&branch=x&language=zz&page=99", "q=%00'%22&reason=%00", "branch=999999999999"]
    )
    def test_an_odd_address_does_no_harm(self, db: None, login: Login, query: str) -> None:
        opened()
        assert login().get(f"{LIST}?{query}").status_code == 200

    def test_filters(self, demo: None, submit: Submit, login: Login) -> None:
        allergy, pair, plain = submit(JOHNS_ALLERGY).handoff, submit(IBUPROFEN).handoff, opened()
        assert allergy and pair
        client = login()
        assert rows(client, "reason=direct_allergy") == [allergy.number]
        assert rows(client, "reason=customer_asked") == [plain.number]
        assert rows(client, "language=he") == [pair.number]
        assert rows(client, f"q={plain.number.lower()}") == [plain.number]
        request = RefillRequest.objects.get(handoff=pair)
        assert rows(client, f"q={request.number.lower()}") == [pair.number]
        assert rows(client, f"branch={allergy.branch_id}") == [allergy.number, pair.number]

    def test_a_row_says_in_words_how_it_stands(self, demo: None, submit: Submit, login: Login) -> None:
        handoff = submit(CODEINE).handoff
        assert handoff
        Handoff.objects.update(claim_due_at=timezone.now() - timedelta(minutes=12, seconds=5))
        text = html(login("physician"), LIST)
        for part in (
            "overdue",
            "to be claimed 12 minutes ago",
            "schedule III",
            "requested by another system",
        ):
            assert part in text, part

    def test_news_are_told_once_and_listing_is_recorded_only_when_it_differs(
        self, db: None, login: Login
    ) -> None:
        first = opened()
        client = login()
        shown = client.get(LIST).context["page"]
        query = {"view": "open", "sign": shown.sign, "since": shown.last}
        same = client.get(f"{LIST}rows/", query).json()
        assert (same["news"], same["sign"], same["waiting"]) == ("", shown.sign, 1)
        assert AuditEvent.objects.filter(what="handoff_listed").count() == 1
        second = opened("complaint")
        new = client.get(f"{LIST}rows/", query).json()
        assert new["news"] == "1 new hand-off" and new["last"] == second.pk and second.number in new["rows"]
        listed = AuditEvent.objects.filter(what="handoff_listed").latest("number")
        assert listed.detail == {"rows": [first.pk, second.pk], "patients": []}

    def test_news_are_of_all_that_waits_whatever_the_view_lists(self, db: None, login: Login) -> None:
        client = login()
        query = "view=mine&language=he"
        shown = client.get(f"{LIST}?{query}").context["page"]
        assert (shown.last, shown.rows) == (0, [])
        # Nothing waited when the page was made; what comes is announced, once.
        first = opened()
        new = client.get(f"{LIST}rows/?{query}&since={shown.last}").json()
        assert (new["news"], new["last"]) == ("1 new hand-off", first.pk)
        assert client.get(f"{LIST}rows/?{query}&since={new['last']}").json()["news"] == ""
        second = opened()
        shown = client.get(f"{LIST}?{query}").context["page"]
        assert (shown.last, shown.rows) == (second.pk, [])
        assert client.get(f"{LIST}rows/?{query}&since={shown.last}").json()["news"] == ""

    def test_ten_thousand_take_as_many_queries_as_ten(self, demo: None, login: Login) -> None:
        client = login()
        medication, patient = Medication.objects.all()[0], Patient.objects.all()[0]

        def fill(count: int) -> None:
            now = timezone.now()
            Handoff.objects.bulk_create(
                Handoff(
                    number=str(uuid4()), run_key=str(uuid4()), reason="customer_asked", claim_due_at=now,
                    medication=medication, patient=patient, branch_id=101, claimed_by=me(client),
                    state="claimed", claimed_at=now,
                )
                for _ in range(count)
            )  # fmt: skip

        def queries() -> int:
            with CaptureQueriesContext(
                connection,
            ) as found:
                assert client.get(LIST).status_code == 200
            return len(found)

        fill(10)
        few = queries()
        fill(10_000)
        assert queries() == few <= 23


class TestCase:
    def test_from_the_queue_to_the_decision_in_three_clicks(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        assert request.handoff
        client = login()
        assert page(request.handoff) in html(client, LIST)
        assert b'value="claim"' in client.get(page(request.handoff)).content  # the first click
        claimed = post(client, request.handoff, "claim")  # the second
        form = claimed.context["forms"]["approve"]
        sent = {name: form[name].value() or "" for name in form.fields}
        assert "sent for preparation" in said(post(client, request.handoff, "approve", **sent))  # the third
        done = AuditEvent.objects.filter(who=f"user:{me(client).pk}").order_by("number")
        whats = list(done.values_list("what", flat=True))
        for what in (
            "handoff_listed",
            "handoff_viewed",
            "handoff_claimed",
            "handoff_submitted",
            "handoff_decided",
        ):
            assert what in whats, what
        viewed = done.filter(what="handoff_viewed").first()
        assert viewed and viewed.patient_id == request.patient_id

    def test_the_page_shows_all_that_a_decision_needs(self, demo: None, submit: Submit, login: Login) -> None:
        patient = Prescription.objects.get(pk=JOHNS_ALLERGY).patient
        opened("complaint", patient=patient)
        conversation = talk(patient, "I need my tablets <b>now</b>")
        run = Run.objects.create(conversation_id=conversation, input_seq=1)
        write(conversation, "Looked.", patient, "assistant", run_id=str(run.pk))
        ToolCall.objects.create(
            run=run, actor="chat", name="check_stock", arguments={"med_id": 4}, ok=True,
            evidence={"quantity": 31}, duration_ms=1,
        )  # fmt: skip
        request = submit(JOHNS_ALLERGY, conversation_id=conversation)
        other = opened("stock", conversation_id=conversation)
        AuditEvent.objects.all()
        client = login()
        assert request.handoff
        send(client, request.handoff, "claim")
        text = html(client, page(request.handoff))
        for part in (
            "sulfonamide",
            "an allergy on record to an ingredient or its class",
            "800 mg + 160 mg",
            request.prescription.directions_en,
            "days left",
            "refills left",
            "unknown: no rule on record",
            "Jaffa",
            "I need my tablets &lt;b&gt;now&lt;/b&gt;",
            "stock of a medicine",
            "31",
            "waits for a decision",
            "not passed",
            "Who of this role is on call there?",
            "Please decide",
            other.number,
            "a complaint",
        ):
            assert part in text, part
        assert "desk-danger" in text

    def test_what_is_not_on_record_is_unknown(self, demo: None, submit: Submit, login: Login) -> None:
        patient = Prescription.objects.get(pk=JOHNS_ALLERGY).patient
        Allergy.objects.filter(patient=patient).delete()
        Patient.objects.filter(pk=patient.pk).update(allergy_status="unknown", allergies_recorded_on=None)
        Prescription.objects.filter(pk=JOHNS_ALLERGY).update(
            last_filled_on=None, directions="", prescriber=""
        )
        request = submit(JOHNS_ALLERGY)
        assert request.handoff
        case = login().get(page(request.handoff)).context["case"]
        assert case.patient.allergies_unknown and case.medicine.days_left is None
        assert case.medicine.coverage is None
        # Nothing there says safe: a status without a date counts no more than none.
        Patient.objects.filter(pk=patient.pk).update(allergy_status="none_known")
        case = login("physician").get(page(request.handoff)).context["case"]
        assert case.patient.allergies_unknown

    def test_how_the_identity_was_proven_is_from_the_audit_log(self, demo: None, login: Login) -> None:
        from prescriptions.audit import audit_record

        patient = Patient.objects.get(mrn="10000101")
        conversation = talk(patient, "hello")
        audit_record(
            who=f"chat:{conversation}", what="identity_verified", where="chat", how="otp", patient=patient
        )
        handoff = opened(patient=patient, conversation_id=conversation)
        assert "by a code sent to the contact on file" in html(login(), page(handoff))
        later = opened("complaint", patient=patient)
        assert "by a code" not in html(login("physician"), page(later))

    def test_close_and_release(self, db: None, login: Login) -> None:
        client, handoff = login(), opened()
        send(client, handoff, "claim")
        send(client, handoff, "release")
        handoff.refresh_from_db()
        assert handoff.state == "open"
        send(client, handoff, "claim")
        assert "closed" in said(post(client, handoff, "close", outcome="by_phone"))
        handoff.refresh_from_db()
        assert (handoff.state, handoff.outcome) == ("closed", "by_phone")
        assert "over already" in said(post(client, handoff, "close", outcome="by_phone"))

    def test_who_looks_or_writes_keeps_the_claim_and_an_open_page_alone_does_not(
        self, db: None, login: Login
    ) -> None:
        client, handoff = login(), opened()
        live = f"{LIST}{handoff.pk}/live/"
        send(client, handoff, "claim")

        def until() -> Any:
            return Handoff.objects.get(pk=handoff.pk).claim_until

        soon = timezone.now() + timedelta(seconds=5)
        for url, kept in ((live, False), (f"{live}?busy=1", True), (page(handoff), True)):
            Handoff.objects.update(claim_until=soon)
            login("physician", name=f"other-{len(url)}").get(url)
            assert until() == soon
            client.get(url)
            assert (until() > soon) is kept, url

    def test_passed_on_beyond_ones_sight_leads_back_to_the_queue(self, db: None, login: Login) -> None:
        client, handoff = login(), opened()
        send(client, handoff, "claim")
        physician = login("physician")
        response = post(client, handoff, "pass_on", to=f"physician:{me(physician).pk}", note="dose?")
        assert response.redirect_chain[-1][0] == LIST
        handoff.refresh_from_db()
        assert (handoff.contact, handoff.contact_person) == ("physician", me(physician))
        assert "dose?" in html(physician, page(handoff))

    def test_others_who_look_are_named(self, db: None, login: Login) -> None:
        cache.clear()
        handoff = opened()
        first, second = login(), login("physician")
        assert "is looking at this" not in html(first, page(handoff))
        assert "the-pharmacist is looking at this" in html(second, page(handoff))
        live = first.get(f"{LIST}{handoff.pk}/live/").json()
        assert "the-physician is looking at this" in live["viewers"]

    def test_a_change_by_others_is_told(self, db: None, login: Login) -> None:
        handoff = opened()
        first = login()
        sign = first.get(page(handoff)).context["sign"]
        live = f"{LIST}{handoff.pk}/live/"
        assert first.get(live).json()["sign"] == sign
        send(login("physician"), handoff, "claim")
        assert first.get(live).json()["sign"] != sign

    def test_an_open_page_gets_the_mark_and_the_deadline_of_an_emergency(
        self, db: None, login: Login
    ) -> None:
        handoff = opened(conversation_id=talk())
        assert handoff.conversation_id
        client = login()
        live = f"{LIST}{handoff.pk}/live/"
        before = client.get(live).json()
        assert before["urgent"] == "" and "desk-badge-urgent" not in before["standing"]
        handoffs_mark_urgent(handoff.conversation_id)
        after = client.get(live).json()
        assert after["urgent"] == "1" and "desk-badge-urgent" in after["standing"]
        assert re.search(r"to be claimed in 1[45] minutes", after["standing"])
        # The page begins with the same text as it gets afterwards.
        assert after["standing"].strip() in html(client, page(handoff))


TYPED = (
    ("My name is Rivka Peretz, mail me at rivka.p@example.com", ("Rivka", "Peretz", "rivka.p@")),
    ("Call me: 052-345-6789, I need Advil 200 mg", ("345-6789",)),
    (
        "קוראים לי רבקה פרץ, המייל rivka.p@example.com והנייד 0523456789",
        ("רבקה", "פרץ", "rivka.p@", "0523456789"),
    ),
)


class TestWords:
    @pytest.mark.parametrize(("lang", "name"), [("en", "penicillin"), ("he", "פניצילין")])
    def test_an_allergy_to_a_class_is_named_in_the_readers_language(
        self, demo: None, login: Login, lang: str, name: str
    ) -> None:
        john = Patient.objects.get(mrn="10000123")
        client = login()
        client.cookies["django_language"] = lang
        shown = client.get(page(opened(patient=john, conversation_id=talk(john, "hi")))).context["case"]
        names = [one.name for one in shown.patient.allergies]
        assert names[0] == name and "sulfonamide-antibiotic" not in names

    @pytest.mark.parametrize(
        ("lang", "rows"),
        [
            (
                "en",
                {"medicine": "Ibuprofen · strength: 200 mg", "packs": "7", "restock expected": "01.12.2026"},
            ),
            ("he", {"תרופה": "איבופרופן · חוזק: 200 mg", "אריזות": "7", "חידוש מלאי צפוי": "01.12.2026"}),
        ],
    )
    def test_what_was_looked_up_is_worded(self, lang: Any, rows: dict[str, str]) -> None:
        facts = {
            "medication": {"id": 1, "label_en": "Ibuprofen", "label_he": "איבופרופן", "strength": "200 mg"},
            "quantity": 7,
            "restock_on": "2026-12-01",
            "threshold": 5,
            "note_en": "",
        }
        assert dict(facts_shown({"facts": facts, "numbers": ["7"]}, lang)) == rows

    def test_the_queues_heading_is_renewed_with_its_rows(self, db: None, login: Login) -> None:
        client = login()
        assert "0 hand-offs" in html(client, LIST)
        opened()
        assert client.get(f"{LIST}rows/?view=open").json()["caption"].startswith("1 hand-off,")


class TestSidebar:
    @pytest.mark.parametrize(
        ("role", "count"), [("technician", "1"), ("pharmacist", "2"), ("physician", "2"), ("auditor", "")]
    )
    def test_the_link_counts_what_its_reader_may_take(
        self, db: None, login: Login, role: str, count: str
    ) -> None:
        client = login(role)
        opened()
        opened("stock")
        Handoff.objects.filter(pk=opened().pk).update(claimed_by=User.objects.create_user("another"))
        shown = client.get(LIST).context["sidebar_navigation"]
        [link] = [item for group in shown for item in group["items"] if item["link"] == LIST]
        assert link.get("badge", "") == count
        assert f">{count}<" in "".join(html(client, LIST).split()) or not count


class TestMasks:
    @pytest.mark.parametrize(("text", "secrets"), TYPED)
    def test_who_wrote_is_read_only_by_whoever_claimed_it(
        self, demo: None, login: Login, text: str, secrets: tuple[str, ...]
    ) -> None:
        handoff = opened(conversation_id=talk(None, text), summary=text)
        client = login()
        live = f"{LIST}{handoff.pk}/live/?seen=0"
        before = html(client, page(handoff)), client.get(live).json()["messages"]
        auditor = html(login("auditor"), page(handoff))
        for secret in secrets:
            assert not [shown for shown in (*before, auditor) if secret in shown]
        assert all("••••••" in shown for shown in before)
        send(client, handoff, "claim")
        after = html(client, page(handoff))
        assert all(secret in after for secret in secrets)

    def test_medicines_amounts_and_the_phone_of_a_branch_stay(self, demo: None, login: Login) -> None:
        phone = Store.objects.get(pk=101).phone
        said = f"Do you have Advil 200 mg or Acamol? I called {phone} at 10:30"
        handoff = opened(conversation_id=talk(None, said))
        assert said in html(login(), page(handoff))

    def test_the_patients_own_name_is_masked_wherever_it_stands(self, demo: None, login: Login) -> None:
        david = Patient.objects.get(mrn="10000101")
        asked = talk(david, "cohen here again, did you reach 050 123 4567?")
        shown = html(login(), page(opened(conversation_id=asked, patient=david)))
        assert "cohen" not in shown and "4567" not in shown


class TestReply:
    @pytest.fixture
    def claimed(self, db: None, login: Login) -> tuple[Client, Handoff]:
        handoff = opened(conversation_id=talk(None, "Is anybody there?"))
        client = login()
        send(client, handoff, "claim")
        return client, handoff

    def test_it_reaches_the_conversation(self, claimed: tuple[Client, Handoff]) -> None:
        client, handoff = claimed
        seen = client.get(page(handoff)).context["forms"]["reply"]["seen_seq"].value()
        assert "Sent to the customer" in said(post(client, handoff, "reply", text="I am here", seen_seq=seen))
        event = Event.objects.filter(conversation_id=handoff.conversation_id, type="message.completed").last()
        assert event and (event.payload["role"], event.payload["text"]) == ("staff", "I am here")
        assert "I am here" in html(client, page(handoff))
        assert AuditEvent.objects.filter(what="handoff_replied").count() == 1
        assert "Let the assistant answer again" in html(client, page(handoff))
        assert "answers this customer again" in said(post(client, handoff, "give_back"))

    def test_what_the_customer_wrote_meanwhile_is_shown_first(self, claimed: tuple[Client, Handoff]) -> None:
        client, handoff = claimed
        assert handoff.conversation_id
        seen = client.get(page(handoff)).context["forms"]["reply"]["seen_seq"].value()
        write(handoff.conversation_id, "Never mind, I have it.")
        refused = post(client, handoff, "reply", text="Here it is", seen_seq=seen)
        assert [one.text for one in refused.context["unseen"]] == ["Never mind, I have it."]
        assert not Event.objects.filter(payload__role="staff").exists()
        form = refused.context["forms"]["reply"]
        assert form["text"].value() == "Here it is"
        # The second press, of the form as it is now.
        sent = {"text": form["text"].value(), "seen_seq": form["seen_seq"].value()}
        assert "Sent to the customer" in said(post(client, handoff, "reply", **sent))

    def test_after_a_move_what_was_written_there_is_shown_first(
        self, claimed: tuple[Client, Handoff]
    ) -> None:
        client, handoff = claimed
        assert handoff.conversation_id
        for text in ("Hello?", "Please", "It is urgent"):
            write(handoff.conversation_id, text)
        form = client.get(page(handoff)).context["forms"]["reply"]
        sent = {name: form[name].value() for name in ("seen_seq", "conversation")}
        moved = talk(None, "I write here now")
        with transaction.atomic():
            handoff_move(Handoff.objects.select_for_update(of=("self",)).get(pk=handoff.pk), moved)
        refused = post(client, handoff, "reply", text="Here it is", **sent)
        assert [one.text for one in refused.context["unseen"]] == ["I write here now"]
        assert not Event.objects.filter(payload__role="staff").exists()
        form = refused.context["forms"]["reply"]
        again = {name: form[name].value() for name in ("text", "seen_seq", "conversation")}
        assert again["conversation"] == str(moved)
        assert "Sent to the customer" in said(post(client, handoff, "reply", **again))
        assert Event.objects.get(payload__role="staff").conversation_id == moved

    def test_an_open_page_gets_the_messages_of_the_conversation_to_which_it_moved(
        self, claimed: tuple[Client, Handoff]
    ) -> None:
        client, handoff = claimed
        first = handoff.conversation_id
        assert first
        last = write(first, "Are you there?")
        live = f"{LIST}{handoff.pk}/live/"
        moved = talk(None, "I write here now")
        with transaction.atomic():
            handoff_move(Handoff.objects.select_for_update(of=("self",)).get(pk=handoff.pk), moved)
        found = client.get(live, {"seen": last + 50, "conversation": str(first)}).json()
        assert "I write here now" in found["messages"] and "Are you there?" not in found["messages"]
        assert (found["conversation"], found["news"]) == (str(moved), "1 new message")
        same = client.get(live, {"seen": found["last"], "conversation": str(moved)}).json()
        assert (same["messages"].strip(), same["last"]) == ("", found["last"])
        # A page that has no message of it yet gets none of the earlier conversation again.
        from_nothing = client.get(live, {"seen": 0, "conversation": str(moved)}).json()
        assert "Are you there?" not in from_nothing["messages"]

    @pytest.mark.parametrize("text", ["", "   ", "x" * 2_001])
    def test_no_text_and_too_much_are_refused(self, claimed: tuple[Client, Handoff], text: str) -> None:
        client, handoff = claimed
        assert post(client, handoff, "reply", text=text, seen_seq=99).context["forms"]["reply"].errors["text"]

    def test_of_a_conversation_that_is_gone_it_is_said(self, db: None, login: Login) -> None:
        client, handoff = login(), opened()
        send(client, handoff, "claim")
        assert "was deleted" in said(post(client, handoff, "reply", text="Hello", seen_seq=0))

    def test_a_text_is_kept_when_somebody_else_has_taken_it(
        self, claimed: tuple[Client, Handoff], login: Login
    ) -> None:
        client, handoff = claimed
        send(client, handoff, "release")
        send(login("physician"), handoff, "claim")
        response = post(client, handoff, "reply", text="A long text", seen_seq=99)
        assert "the-physician has taken this" in said(response)
        assert "A long text" in response.content.decode()
        assert not Event.objects.filter(payload__role="staff").exists()

    def test_new_messages_come_by_themselves_and_are_recorded(self, claimed: tuple[Client, Handoff]) -> None:
        client, handoff = claimed
        assert handoff.conversation_id
        live = f"{LIST}{handoff.pk}/live/"
        last = client.get(page(handoff)).context["case"].last_seq
        assert client.get(live, {"seen": last}).json()["messages"].strip() == ""
        assert not AuditEvent.objects.filter(what="handoff_read").exists()
        seq = write(handoff.conversation_id, "Hello? <script>alert(1)</script>")
        found = client.get(live, {"seen": last}).json()
        assert (found["last"], found["news"]) == (seq, "1 new message")
        assert "&lt;script&gt;" in found["messages"]
        assert AuditEvent.objects.filter(what="handoff_read").count() == 1
        assert client.get(live, {"seen": "x"}).status_code == 200

    def test_templates_are_offered_in_the_customers_language(self, db: None, login: Login) -> None:
        handoff = opened(conversation_id=talk(None, "שלום"), language="he")
        client = login()
        send(client, handoff, "claim")
        text = html(client, page(handoff))
        template = ReplyTemplate.objects.get(code="looking")
        assert template.text_he and template.text_he in text and template.text_en not in text
        assert template.title_en in text and 'dir="rtl"' in text
        ReplyTemplate.objects.update(is_active=False)
        assert template.text_he not in html(client, page(handoff))

    def test_templates_that_staff_changed_stay(self, db: None) -> None:
        ReplyTemplate.objects.filter(code="looking").update(text_en="Mine", is_active=False)
        ReplyTemplate.objects.filter(code="settled").delete()
        on_post_migrate(sender=None, using="default")  # type: ignore[arg-type]
        assert ReplyTemplate.objects.get(code="looking").text_en == "Mine"
        assert ReplyTemplate.objects.filter(code="settled").count() == 1

    @pytest.mark.parametrize(
        ("role", "status"), [("pharmacist", 200), ("technician", 403), ("physician", 403)]
    )
    def test_pharmacists_edit_templates(self, db: None, login: Login, role: str, status: int) -> None:
        client = login(role)
        assert client.get("/admin/prescriptions/replytemplate/add/").status_code == status
        assert client.get("/admin/prescriptions/replytemplate/").status_code == 200


@pytest.mark.parametrize("lang", ["en", "he"])
def test_pages_are_in_the_readers_language(demo: None, submit: Submit, login: Login, lang: str) -> None:
    request = submit(JOHNS_ALLERGY)
    assert request.handoff
    client = login()
    client.cookies["django_language"] = lang
    send(client, request.handoff, "claim")
    queue, case = html(client, LIST), html(client, page(request.handoff))
    words = {
        "en": (("Unclaimed", "deadline", "claimed by"), ("Safety checks", "Approve", "Pass on or close")),
        "he": (("ללא מטפל", "מועד", "בטיפול של"), ("בדיקות בטיחות", "אישור", "העברה הלאה או סגירה")),
    }
    for part in words[lang][0]:
        assert part in queue, part
    for part in words[lang][1]:
        assert part in case, part
    for part in words["he" if lang == "en" else "en"][1]:
        assert part not in case, part
