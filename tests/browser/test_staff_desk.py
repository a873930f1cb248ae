"""The staff's queue and cases in a browser: axe, keyboard, three clicks, what comes without reloading, print."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser.looking import WIDE, check_page, in_each_look
from browser.windows import StaffWindows
from playwright.sync_api import Browser, Page, expect
from served_site import Site, demo_site

pytestmark = pytest.mark.browser
QUEUE = "/admin/prescriptions/handoff/"
PASSWORD = "correct horse battery"
SOON = 9_000  # the pages look every five seconds
PEOPLE = f"""
from django.contrib.auth.models import Group, User
for name, role in (("dana", "pharmacist"), ("noa", "physician"), ("tali", "technician")):
    user = User.objects.create_user(name, password="{PASSWORD}", is_staff=True, first_name=name.title())
    user.groups.add(Group.objects.get(name=role))
"""
REFILL = """
from agent.conversation.events import conversation_begin, event_append
from prescriptions.audit import Access
from prescriptions.models import Prescription
from prescriptions.refill.services import refill_submit
from stores.models import Store
row = Prescription.objects.select_related("patient").get(pk={prescription})
talk, _ = conversation_begin(language=row.patient.language)
for role, text in (("user", "שלום, צריך את התרופה"), ("assistant", "A pharmacist reads it.")):
    said = {{"role": role, "text": text, "lang": "en", "cards": [], "suggestions": []}}
    event_append(conversation_id=talk.pk, type="message.completed", payload=said, patient=row.patient)
made = refill_submit(
    patient=row.patient, prescription_id=row.pk, store=Store.objects.get(pk=101), language=row.patient.language,
    access=Access(f"chat:{{talk.pk}}", "chat"), conversation_id=talk.pk,
)
print(made.handoff_id)
"""
ASKED = """
from uuid import uuid4
from agent.conversation.events import conversation_begin, event_append
from prescriptions.handoffs.services import handoff_open
talk, _ = conversation_begin(language="en")
said = {{"role": "user", "text": "{text}", "lang": "en", "cards": [], "suggestions": []}}
event_append(conversation_id=talk.pk, type="message.completed", payload=said)
print(handoff_open(conversation_id=talk.pk, reason="{reason}", run_key=str(uuid4()), language="en").pk)
"""
WRITTEN = """
from agent.conversation.events import event_append
from prescriptions.models import Handoff
said = {{"role": "user", "text": "{text}", "lang": "en", "cards": [], "suggestions": []}}
talk = Handoff.objects.get(pk={pk}).conversation_id
event_append(conversation_id=talk, type="message.completed", payload=said)
"""
URGENT = """
from prescriptions.handoffs.services import handoff_make_urgent
from prescriptions.models import Handoff
from django.db import transaction
with transaction.atomic():
    handoff_make_urgent(Handoff.objects.select_for_update(of=("self",)).get(pk={pk}))
"""
MOVED = """
from django.db import transaction
from agent.conversation.events import conversation_begin, event_append
from prescriptions.handoffs.moves import handoff_move
from prescriptions.models import Handoff
talk, _ = conversation_begin(language="en")
said = {{"role": "user", "text": "{text}", "lang": "en", "cards": [], "suggestions": []}}
event_append(conversation_id=talk.pk, type="message.completed", payload=said)
with transaction.atomic():
    handoff_move(Handoff.objects.select_for_update(of=("self",)).get(pk={pk}), talk.pk)
print(talk.pk)
"""
DENTAL = """
from agent.knowledge.services import entries_publish
from agent.models import KnowledgeEntry
texts = (
    ("D1", "en", "Which suture closes a gingival flap?", "A 5-0 monofilament suture, removed after 7 to 10 days."),
    ("D2", "en", "Which suture closes an extraction socket?", "A resorbable suture."),
    ("D1", "vi", "Khâu vạt nướu bằng chỉ gì?", "Dùng chỉ đơn sợi 5-0, cắt chỉ sau 7 đến 10 ngày."),
)
rows = [
    KnowledgeEntry.objects.create(
        role="doctor_dental", entry_id=entry_id, language=language, question=question, answer=answer,
        demuc="Surgery", source="Textbook of oral surgery",
    )
    for entry_id, language, question, answer in texts
]
entries_publish(entries=rows, actor="system:tests")
print(KnowledgeEntry.objects.get(role="customer", language="he", entry_id="C001").pk)
"""
SUTURE = "Which suture closes a gingival flap?"
KNOWLEDGE = "/admin/agent/knowledgequestion/"
JOHNS_ALLERGY, ADALIMUMAB, PAIR = 12, 14, 17
OF_A_MEDICINE = "tr[data-key]:not(:has(td:nth-child(5):has-text('–'))) th a"


@pytest.fixture(scope="module")
def desk(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Site]:
    """A site of this module, with people of the staff and hand-offs."""
    folder = tmp_path_factory.mktemp("desk")
    with demo_site("desk", folder, django_db_blocker, with_knowledge=True) as site:
        site.shell(PEOPLE)
        for prescription in (JOHNS_ALLERGY, PAIR):
            site.shell(REFILL.format(prescription=prescription))
        site.shell(ASKED.format(reason="extra_dose", text="I took two"))
        yield site


Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def windows(desk: Site, browser: Browser) -> StaffWindows:
    return StaffWindows(browser, desk.url, PASSWORD)


@pytest.fixture
def enter(windows: StaffWindows) -> Iterator[Enter]:
    """Opens a page of the desk as one of the staff; console errors and blocked content fail the test."""

    def opened(path: str = QUEUE, name: str = "dana", lang: str = "en", width: int = WIDE) -> Page:
        return windows.open(path, name, lang, width)

    yield opened
    windows.leave()


@in_each_look
def test_queue_and_case_pass_axe(enter: Enter, lang: str, width: int) -> None:
    page = enter(lang=lang, width=width)
    assert page.evaluate("document.documentElement.dir") == ("rtl" if lang == "he" else "ltr")
    check_page(page, "queue")
    page.locator("tr[data-key] th a").first.click()
    expect(page.locator("#desk-claim")).to_be_visible()
    check_page(page, "case")
    page.locator("#desk-claim").click()
    expect(page.locator("#reply_text")).to_be_visible()
    for fold in page.locator("details > summary").all():
        fold.click()
    check_page(page, "claimed case, all unfolded")
    page.locator("button[value=deny]").click()
    expect(page.locator(".desk-error").first).to_be_visible()
    check_page(page, "case with an error")
    page.locator("button[value=release]").click()
    expect(page.locator("#desk-claim")).to_be_visible()


@pytest.fixture(scope="module")
def insulin(desk: Site) -> str:
    """Publishes a dentists' collection in two languages; the key of a customers' entry in Hebrew."""
    return desk.shell(DENTAL)


@in_each_look
def test_staff_ask_the_knowledge_base(desk: Site, enter: Enter, insulin: str, lang: str, width: int) -> None:
    page = enter(KNOWLEDGE, name="noa", lang=lang, width=width)

    def look(state: str) -> None:
        check_page(page, f"knowledge-{state}", full_page=True)

    look("empty")
    page.select_option("select[name=collection]", "doctor_dental:en")
    page.fill("textarea[name=question]", SUTURE)
    page.locator(".refill-main").click()
    expect(page.locator("blockquote")).to_have_text("A 5-0 monofilament suture, removed after 7 to 10 days.")
    assert page.locator("blockquote").evaluate("quote => getComputedStyle(quote).direction") == "ltr"
    page.locator("details > summary").click()
    expect(page.locator(".refill-path")).to_contain_text("ComposeAnswer")
    look("answered")
    page.locator("button[name=question]").click()
    expect(page.locator("blockquote").first).to_have_text("A resorbable suture.")
    page.select_option("select[name=collection]", "doctor_dental:vi")
    page.fill("textarea[name=question]", "khau vat nuou bang chi gi")
    page.locator(".refill-main").click()
    expect(page.locator("blockquote")).to_contain_text("Dùng chỉ đơn sợi 5-0")
    page.fill("textarea[name=question]", "The patient can't breathe, his throat is swelling")
    page.locator(".refill-main").click()
    expect(page.locator("[role=alert]")).to_contain_text("101")
    look("emergency")
    page.goto(f"{desk.url}/admin/agent/knowledgeentry/{insulin}/publish/")
    expect(page.locator(".refill-steps li").first).to_be_visible()
    look("entry")


def test_three_clicks_from_the_queue_to_the_decision(desk: Site, enter: Enter) -> None:
    pk = desk.shell(REFILL.format(prescription=ADALIMUMAB))
    page = enter()
    page.evaluate("window.clicks = 0")
    row = page.locator(f"tr[data-key='{pk}']")
    row.locator("th a").click()  # 1
    page.locator("#desk-claim").click()  # 2
    page.locator("#approve_reference").fill("PA-1")
    page.locator("button[value=approve]").click()  # 3
    expect(page.get_by_text("sent for preparation")).to_be_visible(timeout=15_000)


def test_with_the_keyboard_alone(desk: Site, enter: Enter) -> None:
    page = enter()
    keys = page.keyboard
    focused = "document.activeElement.closest('tr')?.dataset.key"
    order = [row.get_attribute("data-key") for row in page.locator("tr[data-key]").all()]
    keys.press("/")
    assert page.evaluate("document.activeElement.id") == "desk-q"
    keys.type("jk/c")  # typed, not done
    assert page.locator("#desk-q").input_value() == "jk/c"
    page.locator("#desk-q").fill("")
    page.evaluate("document.activeElement.blur()")
    for expected in (*order[:2], order[0]):
        keys.press("j" if expected != order[0] or page.evaluate(focused) is None else "k")
        assert page.evaluate(focused) == expected
    keys.press("Enter")
    expect(page.locator("#desk-claim")).to_be_visible()
    keys.press("c")
    expect(page.locator("#reply_text")).to_be_visible()
    for _step in range(80):
        if page.evaluate("document.activeElement.id") == "reply_text":
            break
        keys.press("Tab")
    keys.type("c j k")
    assert page.locator("#reply_text").input_value() == "c j k"
    expect(page.locator("button[value=release]")).to_be_visible()
    page.locator("button[value=release]").press("Enter")
    expect(page.locator("#desk-claim")).to_be_visible()


def test_new_rows_come_without_reloading_and_keep_the_focus(desk: Site, enter: Enter) -> None:
    page = enter()
    first = page.locator("tr[data-key] th a").first
    first.focus()
    key = page.evaluate("document.activeElement.closest('tr').dataset.key")
    waiting = int(page.locator("[data-count=unclaimed]").inner_text())
    pk = desk.shell(ASKED.format(reason="customer_asked", text="Hello?"))
    expect(page.locator(f"tr[data-key='{pk}']")).to_be_visible(timeout=SOON)
    expect(page.locator("#desk-news")).to_have_text("1 new hand-off")
    expect(page).to_have_title(f"({waiting + 1}) " + page.title().split(") ")[-1])
    assert page.evaluate("document.activeElement.closest('tr')?.dataset.key") == key


def test_messages_come_and_a_template_is_inserted(desk: Site, enter: Enter) -> None:
    pk = desk.shell(ASKED.format(reason="customer_asked", text="Is anybody there?"))
    page = enter(f"{QUEUE}{pk}/change/")
    page.locator("#desk-claim").click()
    page.locator("#desk-template").select_option(index=1)
    text = page.locator("#reply_text").input_value()
    assert text.startswith("Hello, I am reading")
    desk.shell(WRITTEN.format(pk=pk, text="And one more thing"))
    page.locator("button[value=reply]").click()
    # Not sent yet: the customer wrote after the page was made.
    expect(page.locator("[role=alert]").get_by_text("And one more thing")).to_be_visible()
    assert page.locator("#reply_text").input_value() == text
    page.locator("button[value=reply]").click()
    expect(page.locator("#desk-messages .desk-staff")).to_contain_text(text)
    desk.shell(WRITTEN.format(pk=pk, text="Thank you <b>so</b> much"))
    expect(page.locator("#desk-messages > li").last).to_contain_text("Thank you <b>so</b> much", timeout=SOON)
    other = enter(f"{QUEUE}{pk}/change/", name="noa")
    expect(other.locator("#desk-viewers")).to_contain_text("Dana is looking at this")
    assert other.locator("#desk-claim").count() == 0


def test_the_key_a_goes_to_the_approval_and_decides_nothing(desk: Site, enter: Enter) -> None:
    page = enter()
    page.locator(OF_A_MEDICINE).first.click()
    expect(page.locator("#desk-claim")).to_be_visible()
    page.keyboard.press("c")
    expect(page.locator("#reply_text")).to_be_visible()
    page.locator("#reply_text").press("a")  # typed, not done
    expect(page.locator("#reply_text")).to_have_value("a")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    approve = page.locator("button[value=approve]")
    expect(approve).to_be_focused()
    expect(approve).to_be_in_viewport()
    page.wait_for_timeout(500)
    expect(page.locator("button[value=release]")).to_be_visible()
    page.locator("button[value=release]").click()
    expect(page.locator("#desk-claim")).to_be_visible()


@pytest.mark.parametrize("lang", ["en", "he"])
def test_an_open_case_becomes_urgent_and_what_is_read_stays_where_it_is(
    desk: Site, enter: Enter, lang: str
) -> None:
    pk = desk.shell(ASKED.format(reason="customer_asked", text="Hello?"))
    desk.shell(WRITTEN.format(pk=pk, text=" ".join(["A long message"] * 120)))
    page = enter(f"{QUEUE}{pk}/change/", lang=lang, width=390)
    page.locator("#desk-claim").click()
    seen, messages = page.locator("#reply_seen_seq"), page.locator("#desk-messages")
    urgent = page.locator("#desk-standing .desk-badge-urgent")
    expect(urgent).to_have_count(0)
    read = seen.input_value()
    # The page shows the newest message once it is loaded.
    page.wait_for_function("document.getElementById('desk-messages').scrollTop > 0")
    messages.evaluate("list => list.scrollTop = 0")
    messages.evaluate("list => list.scrollIntoView()")
    # In one step of the page, which exchanges the list when something is new.
    place = "document.getElementById('desk-messages').getBoundingClientRect().y"
    before = page.evaluate(place)
    desk.shell(URGENT.format(pk=pk))
    expect(urgent).to_have_text({"en": "urgent", "he": "דחוף"}[lang], timeout=SOON)
    expect(page.locator("#desk-news")).to_contain_text({"en": "become urgent", "he": "דחופה"}[lang])
    desk.shell(WRITTEN.format(pk=pk, text="One more"))
    expect(messages.locator("li").last).to_contain_text("One more", timeout=SOON)
    assert abs(before - page.evaluate(place)) < 2
    assert messages.evaluate("list => list.scrollTop") == 0
    check_page(page, "urgent")
    # What was not on the screen was not read: a reply would be held.
    page.wait_for_timeout(3_500)
    expect(seen).to_have_value(read)
    messages.evaluate("list => list.scrollTop = list.scrollHeight")
    expect(seen).not_to_have_value(read, timeout=5_000)


def test_rows_that_come_leave_what_is_read_in_the_queue_where_it_is(desk: Site, enter: Enter) -> None:
    desk.shell(4 * ASKED.format(reason="customer_asked", text="Hello?"))
    page = enter(width=390)
    rows = page.locator("tr[data-key]")
    last = rows.last
    last.locator("th a").focus()
    last.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    key, before = last.get_attribute("data-key"), last.bounding_box()
    pk = desk.shell(ASKED.format(reason="extra_dose", text="I took two"))
    expect(page.locator(f"tr[data-key='{pk}']")).to_be_attached(timeout=SOON)
    after = page.locator(f"tr[data-key='{key}']").bounding_box()
    assert before and after and abs(before["y"] - after["y"]) < 2


def test_an_open_case_follows_its_customer_to_another_conversation(desk: Site, enter: Enter) -> None:
    pk = desk.shell(ASKED.format(reason="customer_asked", text="Is anybody there?"))
    for text in ("Hello?", "Please"):
        desk.shell(WRITTEN.format(pk=pk, text=text))
    page = enter(f"{QUEUE}{pk}/change/")
    page.locator("#desk-claim").click()
    expect(page.locator("#reply_text")).to_be_visible()
    moved = desk.shell(MOVED.format(pk=pk, text="I write here now"))
    messages = page.locator("#desk-messages")
    expect(messages.locator("li").last).to_contain_text("I write here now", timeout=SOON)
    expect(page.locator("#desk-reply-to")).to_have_text(moved[:8])
    # Once it counts as read, it is answered where it was written.
    expect(page.locator("#reply_conversation")).to_have_value(moved, timeout=SOON)
    page.locator("#reply_text").fill("I see it")
    page.locator("button[value=reply]").click()
    expect(messages.locator(".desk-staff")).to_contain_text("I see it")
    expect(messages.get_by_text("Please")).to_have_count(1)


@pytest.mark.parametrize("lang", ["en", "he"])
def test_a_printed_case_has_the_case_and_nothing_else(enter: Enter, lang: str) -> None:
    page = enter(lang=lang)
    page.locator(OF_A_MEDICINE).first.click()
    expect(page.locator(".desk-case")).to_be_visible()
    page.emulate_media(media="print")
    for hidden in ("#nav-sidebar", "#main > header", ".desk-hint >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#desk-safety")).to_be_visible()
    direction = page.evaluate("getComputedStyle(document.querySelector('.desk-case')).direction")
    assert direction == ("rtl" if lang == "he" else "ltr")
