"""Signing in, lock-out, second factor and consent in Chromium: axe, both languages, narrow and wide, and the content policy."""

from base64 import b32decode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser.looking import check_page, in_each_look
from django_otp.oath import totp
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect
from served_site import Site, demo_site

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery staple"
KEY = "31" * 20
PEOPLE = f"""
from django.contrib.auth.models import Group, User
from django_otp.plugins.otp_totp.models import TOTPDevice
from pharmacy_site.staff.consents import consent_ask, consent_give
for name, role in (("dana", "pharmacist"), ("noa", "pharmacist"), ("asks", "administrator"), ("boss", "administrator")):
    user = User.objects.create_user(name, password="{PASSWORD}", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
TOTPDevice.objects.create(user=User.objects.get(username="dana"), name="app", key="{KEY}")
asks, boss = User.objects.get(username="asks"), User.objects.get(username="boss")
newcomer = User.objects.create_user("newcomer", is_staff=True)
asked = consent_ask(newcomer, asks, groups=["pharmacist"], gives_link=True)
_, token = consent_give(asked.request.pk, boss)
consent_ask(User.objects.get(username="noa"), asks, gives_link=True, drops_factor=True)
print(f"/admin/new-password/{{asked.request.pk}}/{{token}}/")
"""


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[tuple[Site, str]]:
    """A site with these people, and the link for a new password."""
    folder = tmp_path_factory.mktemp("access")
    with demo_site("access", folder, django_db_blocker) as one:
        yield one, one.shell(PEOPLE)


Open = Callable[[str, int], Page]


@pytest.fixture
def opened(site: tuple[Site, str], browser: Browser) -> Iterator[Open]:
    """Opens a page of the site; console errors and blocked content fail the test."""
    pages: list[Page] = []
    problems: list[str] = []

    def told(message: ConsoleMessage) -> None:
        # A link that is over is a page with the status 404.
        if message.type == "error" and "404" not in message.text:
            problems.append(message.text)

    def make(lang: str, width: int) -> Page:
        viewport = ViewportSize(width=width, height=900)
        context = browser.new_context(viewport=viewport, reduced_motion="reduce")
        context.add_cookies([{"name": "django_language", "value": lang, "url": site[0].url}])
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", told)
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.context.close()
    assert problems == []


def sign_in(page: Page, url: str, name: str, password: str = PASSWORD, path: str = "/admin/") -> None:
    page.goto(f"{url}/admin/login/?next={path}")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_load_state()


@in_each_look
def test_the_pages_of_access_pass_axe(site: tuple[Site, str], opened: Open, lang: str, width: int) -> None:
    url, link = site[0].url, site[1]
    page = opened(lang, width)
    page.goto(f"{url}/admin/login/")
    assert page.evaluate("document.documentElement.dir") == ("rtl" if lang == "he" else "ltr")
    check_page(page, "sign-in")
    sign_in(page, url, f"nobody-{lang}", "wrong")
    check_page(page, "wrong")
    for _ in range(5):
        sign_in(page, url, f"nobody-{lang}", "wrong")
    expect(page.locator("body")).to_contain_text({"en": "Too many tries", "he": "יותר מדי ניסיונות"}[lang])
    check_page(page, "lock-out")
    sign_in(page, url, "dana")
    expect(page.locator("input[name=code]")).to_be_visible()
    check_page(page, "factor")
    page.goto(f"{url}{link}")
    expect(page.locator("input[name=number]")).to_be_visible()
    check_page(page, "new-password")
    page.goto(f"{url}/admin/new-password/1/x/")
    check_page(page, "link-over")
    page.context.clear_cookies(name="sessionid")
    # The theme's lists: only that the policy lets them through.
    sign_in(page, url, "boss", path="/admin/staff/accountrequest/")
    page.goto(f"{url}/admin/staff/accountrequest/2/change/")
    expect(page.locator("button[value=approve]")).to_be_visible()
    check_page(page, "request")
    page.goto(f"{url}/admin/staff/signincount/")
    page.goto(f"{url}/admin/second-factor/setup/")
    expect(page.locator(".staff-qr")).to_be_visible()
    check_page(page, "setup")


def test_a_phone_is_set_up_and_its_codes_are_shown_once(site: tuple[Site, str], opened: Open) -> None:
    url = site[0].url
    page = opened("he", 390)
    sign_in(page, url, "noa", path="/admin/second-factor/setup/")
    text = page.locator(".staff-key").inner_text().replace(" ", "")
    key = b32decode(text + "=" * (-len(text) % 8))
    # The picture is whole: the policy lets it through.
    assert page.locator(".staff-qr").evaluate("image => image.naturalWidth") > 0
    page.fill("input[name=code]", f"{totp(key):06d}")
    page.press("input[name=code]", "Enter")
    expect(page.locator(".staff-codes li")).to_have_count(10)
    check_page(page, "codes")
    page.locator("a.staff-main").click()
    page.goto(f"{url}/admin/second-factor/own/")
    expect(page.locator("input[name=password]")).to_be_visible()
    check_page(page, "own")
