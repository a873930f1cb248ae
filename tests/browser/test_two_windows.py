"""A customer's window and a pharmacist's, side by side on one served site: from "I need my metformin again" to "approved"."""

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from browser.looking import check_page, in_each_look
from browser.windows import StaffWindows
from playwright.sync_api import Browser, Page, expect
from served_site import Site, demo_site

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"
QUEUE = "/admin/prescriptions/handoff/"
DANA = f"""
from django.contrib.auth.models import Group, User
user = User.objects.create_user("dana", password="{PASSWORD}", is_staff=True, first_name="Dana", last_name="Levi")
user.groups.add(Group.objects.get(name="pharmacist"))
from inventory.models import StockLevel
StockLevel.objects.filter(store_id=1, medication__name_en="Metformin").update(quantity=50)
"""
# Somebody with David's metformin, whose amounts no other test has changed.
PATIENT = """
from prescriptions.models import Patient, Prescription, SimulatedLab
from django.utils import timezone
patient, row = Patient.objects.get(mrn="10000101"), Prescription.objects.get(pk=2)
patient.pk, patient.mrn, patient.email, patient.phone = None, "{number}", "p{number}@example.com", "+9725{number}"
patient.language = "{lang}"
patient.save()
row.pk, row.patient = {number}, patient
row.save()
SimulatedLab.objects.create(mrn=patient.mrn, code="egfr", value=88, taken_on=timezone.localdate())
"""
_numbers = count(35_000_001)
SAID = {
    "en": {
        "wish": "I need my metformin again, 90 tablets", "where": "Where would you like to pick it up?", "place": "the online store", "waits": "is with a pharmacist",
        "hello": "hello? is anybody there?", "hours": "A person answers", "again": "please answer me",
        "reply": "Good morning, I am reading it now.", "approved": "approved", "done": "sent for preparation",
    },
    "he": {
        "wish": "אני צריך שוב את המטפורמין שלי, 90 כדורים", "where": "איפה", "place": "החנות המקוונת", "waits": "רוקח",
        "hello": "שלום? יש שם מישהו?", "hours": "מענה אנושי", "again": "בבקשה תענו לי",
        "reply": "בוקר טוב, הבקשה לפניי.", "approved": "אושר", "done": "נשלח להכנה",
    },
}  # fmt: skip
Enter = Callable[[str, int], Page]


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Site]:
    """A site of this module, with a pharmacist."""
    folder = tmp_path_factory.mktemp("windows")
    with demo_site("windows", folder, django_db_blocker) as one:
        one.shell(DANA)
        yield one


@pytest.fixture(scope="module")
def windows(site: Site, browser: Browser) -> StaffWindows:
    return StaffWindows(browser, site.url, PASSWORD)


@pytest.fixture
def enter(windows: StaffWindows) -> Iterator[Enter]:
    """Opens the queue as the pharmacist, in a window of her own."""
    yield lambda lang, width: windows.open(QUEUE, "dana", lang, width)
    windows.leave()


@in_each_look
def test_a_refill_is_approved_in_three_clicks_while_its_customer_waits(
    new_chat: Any, site: Site, enter: Enter, lang: str, width: int
) -> None:
    said, number = SAID[lang], next(_numbers)
    site.shell(PATIENT.format(number=number, lang=lang))
    chat = new_chat(width, 844, base=site.url).open(lang)
    page, desk = chat.page, enter(lang, width)
    log = page.get_by_role("log")

    chat.ask(said["wish"])
    chat.ask(f"p{number}@example.com")
    code = page.locator("#inbox .code")
    expect(code).to_be_attached(timeout=15_000)
    page.locator("#chat-code").fill(code.inner_text())
    page.locator("#chat-code").press("Enter")
    expect(page.locator("#chat-code")).to_be_hidden(timeout=15_000)
    expect(log).to_contain_text(said["where"], timeout=15_000)
    chat.ask(said["place"])
    expect(page.locator(".chat-confirm")).to_be_visible(timeout=15_000)
    check_page(page, "1-card")
    page.locator(".chat-confirm").last.get_by_role("button").first.click()
    card = page.locator(".chat-card-refill")
    expect(card).to_contain_text(said["waits"], timeout=15_000)
    check_page(page, "2-waits")
    # What is meant for the pharmacist is answered once, with hours, place in the queue and a phone.
    told = chat.ask(said["hello"]).inner_text()
    # Whose phone it is depends on who is open.
    assert (
        re.search(r"R-\d+", told) and len(re.findall(r"0\d-\d{3}-\d{4}", told)) == 1 and said["hours"] in told
    )
    answers = chat.answers.count()
    chat.input.fill(said["again"])
    chat.input.press("Enter")
    expect(page.locator(".chat-user .chat-state").last).to_be_visible()
    page.wait_for_timeout(1_500)
    assert chat.answers.count() == answers
    check_page(page, "3-told")

    row = desk.locator("tr[data-key]", has_text=re.compile("Metformin|מטפורמין")).last
    expect(row).to_be_visible(timeout=9_000)
    check_page(desk, "4-queue", full_page=True)
    row.locator("th a").click()  # 1
    expect(desk.locator("#desk-claim")).to_be_visible()
    check_page(desk, "5-case", full_page=True)
    desk.locator("#desk-claim").click()  # 2
    expect(desk.locator("#reply_text")).to_be_visible()
    check_page(desk, "6-claimed", full_page=True)
    desk.locator("#reply_text").fill(said["reply"])
    desk.locator("button[value=reply]").click()
    expect(page.locator(".chat-staff .chat-text")).to_have_text(said["reply"], timeout=10_000)
    check_page(page, "7-reply")
    desk.locator("button[value=approve]").click()  # 3
    expect(card).to_contain_text(said["done"], timeout=15_000)
    expect(log).to_contain_text(said["approved"])
    expect(page.locator(".chat-banner")).to_be_hidden()
    check_page(page, "8-approved")
    check_page(desk, "9-over", full_page=True)
