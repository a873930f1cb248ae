"""Where a refill is picked up when nobody named a place, or there is too little: the decider says it, and it is checked."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from inventory.models import StockLevel
from prescriptions.audit import Access
from prescriptions.errors import RefillRefused
from prescriptions.models import Patient, Prescription, RefillRequest, RefillTransition
from prescriptions.refill.collection import Pickup, collection_begin, collection_give_up
from prescriptions.refill.questions import Written, answer_take
from prescriptions.refill.services import refill_decide, refill_walk
from prescriptions.refill.states import Reason
from stores.models import Store

Submit = Callable[..., RefillRequest]
Login = Callable[..., Client]
STAFF = Access(who="user:900", where="admin")
DAVIDS_METFORMIN, JOHNS_ALLERGY = 2, 12
ONLINE, RAMAT_AVIV, DIZENGOFF = 1, 101, 102


@pytest.fixture
def nowhere(demo: None) -> RefillRequest:
    """David's request of metformin, given up because he named no place."""
    prescription = Prescription.objects.select_related("patient").get(pk=DAVIDS_METFORMIN)
    access = Access(who="chat:1", where="chat")
    begun = collection_begin(
        patient=prescription.patient,
        prescription_id=prescription.pk,
        access=access,
        language="en",
        conversation_id=uuid4(),
    )
    request = refill_walk(collection_give_up(begun, Reason.MAX_ATTEMPTS, access=access))
    assert (request.reason, request.pickup) == ("max_attempts", None)
    return request


def approve(request: RefillRequest, pickup: Pickup | None, decision: str = "approve", **more: Any) -> None:
    refill_decide(request, decision, access=STAFF, role="pharmacist", pickup=pickup, **more)


def at(store: int) -> Pickup:
    return Pickup(Store.objects.get(pk=store))


def page_of(request: RefillRequest) -> str:
    return f"/admin/prescriptions/handoff/{request.handoff_id}/change/"


class TestService:
    @pytest.mark.parametrize(("store", "pickup"), [(ONLINE, ONLINE), (None, "delivery")])
    def test_an_approval_sets_the_place_and_dispenses(
        self, nowhere: RefillRequest, store: int | None, pickup: object
    ) -> None:
        approve(nowhere, at(store) if store else Pickup(None))
        assert (nowhere.outcome, nowhere.pickup, nowhere.pickup_known) == ("dispensed", pickup, True)
        step = RefillTransition.objects.get(request=nowhere, event="approved")
        assert step.detail["pickup"] == pickup

    def test_without_a_place_it_is_refused(self, nowhere: RefillRequest) -> None:
        with pytest.raises(RefillRefused, match="place_needed"):
            approve(nowhere, None)

    def test_a_store_with_too_little_is_refused(self, nowhere: RefillRequest) -> None:
        with pytest.raises(RefillRefused, match="place_stock"):
            approve(nowhere, at(RAMAT_AVIV))
        StockLevel.objects.filter(store_id=ONLINE).update(quantity=0)
        with pytest.raises(RefillRefused, match="place_stock"):
            approve(nowhere, Pickup(None))
        nowhere.refresh_from_db()
        assert (nowhere.outcome, nowhere.pickup_known, nowhere.walk) == (None, False, 1)

    def test_a_store_that_is_closed_for_good_is_refused(self, nowhere: RefillRequest) -> None:
        Store.objects.filter(pk=ONLINE).update(is_active=False)
        with pytest.raises(RefillRefused, match="place_stock"):
            approve(nowhere, at(ONLINE))

    def test_a_delivery_without_an_address_is_refused(self, nowhere: RefillRequest) -> None:
        Patient.objects.update(address="")
        nowhere.refresh_from_db()
        with pytest.raises(RefillRefused, match="no_address"):
            approve(nowhere, Pickup(None))

    def test_a_smaller_quantity_may_be_there_where_the_whole_is_not(self, nowhere: RefillRequest) -> None:
        medication, store = nowhere.prescription.medication, RAMAT_AVIV
        packs = -(-30 // (medication.pack_size or 1))
        StockLevel.objects.update_or_create(
            store_id=store, medication=medication, defaults={"quantity": packs}
        )
        RefillRequest.objects.filter(pk=nowhere.pk).update(quantity=(medication.pack_size or 1) * (packs + 1))
        nowhere.refresh_from_db()
        with pytest.raises(RefillRefused, match="place_stock"):
            approve(nowhere, at(store))
        approve(nowhere, at(store), "change_quantity", quantity=30)
        assert (nowhere.outcome, nowhere.store_id, nowhere.quantity) == ("dispensed", store, 30)

    def test_what_is_out_of_stock_where_it_was_wanted_may_go_elsewhere(
        self, demo: None, submit: Submit
    ) -> None:
        request = submit(DAVIDS_METFORMIN, RAMAT_AVIV)
        assert request.reason == "out_of_stock"
        approve(request, at(ONLINE))
        assert (request.outcome, request.store_id) == ("dispensed", ONLINE)

    def test_a_place_that_the_customer_named_is_not_changed(self, demo: None, submit: Submit) -> None:
        request = submit(JOHNS_ALLERGY, ONLINE)
        with pytest.raises(RefillRefused, match="place_fixed"):
            approve(request, Pickup(None))


class TestPage:
    """The forms of a decision on the case's page; it is claimed first."""

    def send(self, client: Client, request: RefillRequest, decision: str, **more: Any) -> Any:
        client.post(page_of(request), {"act": "claim"})
        data = {"act": decision, "version": request.version, **more}
        return client.post(page_of(request), data)

    def test_the_form_offers_what_has_enough_and_delivery(self, nowhere: RefillRequest, login: Login) -> None:
        client = login()
        client.post(page_of(nowhere), {"act": "claim"})
        response = client.get(page_of(nowhere))
        for act in ("approve", "change_quantity"):
            field = response.context["forms"][act].fields["pickup"]
            assert [value for value, _ in field.choices] == ["", "1", "delivery"]
        assert "pickup" not in response.context["forms"]["deny"].fields
        assert "The customer named no place; an approval needs one." in response.content.decode()

    def test_another_quantity_is_offered_where_one_pack_is_and_refused_where_it_is_too_great(
        self, nowhere: RefillRequest, login: Login
    ) -> None:
        medication = nowhere.prescription.medication
        pack = medication.pack_size or 1
        StockLevel.objects.filter(medication=medication).update(quantity=0)
        StockLevel.objects.update_or_create(
            store_id=RAMAT_AVIV, medication=medication, defaults={"quantity": 1}
        )
        Prescription.objects.filter(pk=nowhere.prescription_id).update(quantity=3 * pack)
        RefillRequest.objects.filter(pk=nowhere.pk).update(quantity=3 * pack)
        nowhere.refresh_from_db()
        client = login()
        client.post(page_of(nowhere), {"act": "claim"})
        offered = {
            act: [value for value, _ in form.fields["pickup"].choices]
            for act, form in client.get(page_of(nowhere)).context["forms"].items()
            if "pickup" in form.fields
        }
        assert offered == {"approve": [""], "change_quantity": ["", str(RAMAT_AVIV)]}
        place = {"pickup": str(RAMAT_AVIV)}
        self.send(client, nowhere, "change_quantity", quantity=2 * pack, **place)
        nowhere.refresh_from_db()
        assert nowhere.outcome is None
        self.send(client, nowhere, "change_quantity", quantity=pack, **place)
        nowhere.refresh_from_db()
        assert (nowhere.outcome, nowhere.store_id, nowhere.quantity) == ("dispensed", RAMAT_AVIV, pack)

    def test_an_approval_asks_for_the_place(self, nowhere: RefillRequest, login: Login) -> None:
        client = login()
        assert self.send(client, nowhere, "approve").context["forms"]["approve"].errors["pickup"]
        assert self.send(client, nowhere, "approve", pickup="delivery").status_code == 302
        nowhere.refresh_from_db()
        assert (nowhere.outcome, nowhere.pickup) == ("dispensed", "delivery")

    @pytest.mark.parametrize("wrong", ["101", "999", "x"])
    def test_another_place_is_refused_by_the_form(
        self, nowhere: RefillRequest, login: Login, wrong: str
    ) -> None:
        response = self.send(login(), nowhere, "approve", pickup=wrong)
        assert response.context["forms"]["approve"].errors["pickup"]
        nowhere.refresh_from_db()
        assert nowhere.outcome is None

    def test_a_denial_needs_no_place(self, nowhere: RefillRequest, login: Login) -> None:
        self.send(login(), nowhere, "deny", reason="other")
        nowhere.refresh_from_db()
        assert nowhere.outcome == "denied"

    def test_where_the_place_is_fixed_the_form_has_none(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request, client = submit(JOHNS_ALLERGY), login()
        client.post(page_of(request), {"act": "claim"})
        assert "pickup" not in client.get(page_of(request)).context["forms"]["approve"].fields

    def test_what_is_out_of_stock_may_go_elsewhere_or_stay(
        self, demo: None, submit: Submit, login: Login
    ) -> None:
        request, client = submit(DAVIDS_METFORMIN, RAMAT_AVIV), login()
        client.post(page_of(request), {"act": "claim"})
        field = client.get(page_of(request)).context["forms"]["approve"].fields["pickup"]
        assert not field.required and field.choices[0] == ("", "as requested")
        self.send(client, request, "approve", pickup="1")
        request.refresh_from_db()
        assert (request.outcome, request.store_id) == ("dispensed", ONLINE)

    def test_it_is_in_hebrew_too(self, nowhere: RefillRequest, login: Login) -> None:
        client = login()
        client.cookies["django_language"] = "he"
        client.post(page_of(nowhere), {"act": "claim"})
        assert "לא ציינו מקום איסוף" in client.get(page_of(nowhere)).content.decode()
        own = f"/admin/prescriptions/refillrequest/{nowhere.pk}/change/"
        assert "עוד לא צוין" in client.get(own).content.decode()

    def test_what_the_customer_answered_is_on_the_page(self, nowhere: RefillRequest, login: Login) -> None:
        client = login()
        self.send(client, nowhere, "ask", question="Where do you want it?")
        assert "no answer yet" in client.get(page_of(nowhere)).content.decode()
        assert nowhere.conversation_id is not None
        message = Written(nowhere.conversation_id, 7, timezone.now(), "To my sister's in Haifa")
        assert answer_take(message, nowhere.patient, access=STAFF) == [nowhere]
        text = client.get(page_of(nowhere)).content.decode()
        assert "no answer yet" not in text and "sister&#x27;s in Haifa" in text
