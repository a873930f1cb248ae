"""What other websites get over HTTP: scripts any page may load, a frame only the site's own pages may show, tickets."""

import gzip
import json
import re
from collections.abc import Iterator

import pytest
from django.conf import settings as site_settings
from django.core.cache import cache
from django.test import Client
from django.utils import translation
from pytest_django import Settings

from agent.models import ChatSite, Ticket

OURS = "http://testserver"
LOADER_LIMIT = 4_096


@pytest.fixture(autouse=True)
def _fresh(db: None, settings: Settings) -> Iterator[None]:
    cache.clear()
    settings.ALLOWED_HOSTS = ["testserver"]
    with translation.override("en"):
        yield


@pytest.fixture
def shop() -> ChatSite:
    return ChatSite.objects.create(
        name="A shop", origins=["https://shop.example", "https://www.shop.example:8443"]
    )


def policy_of(response: object) -> dict[str, str]:
    lines = response.headers["Content-Security-Policy"].split("; ")  # type: ignore[attr-defined]
    return dict(line.split(" ", 1) for line in lines)


# -- Scripts ------------------------------------------------------------------------------------------------
def test_any_page_may_load_the_loader_and_it_is_cached_briefly(client: Client) -> None:
    answer = client.get("/w/v1/loader.js")
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not answer.cookies
    again = client.get("/w/v1/loader.js", headers={"if-none-match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_the_loader_is_small(client: Client) -> None:
    answer = client.get("/w/v1/loader.js", headers={"accept-encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.content) <= LOADER_LIMIT
    assert b"PharmacyChat" in gzip.decompress(answer.content)


def test_the_loader_needs_nothing_that_a_strict_page_forbids() -> None:
    text = (site_settings.BASE_DIR / "static" / "embed" / "loader.js").read_text(encoding="utf-8")
    for forbidden in ("eval(", "new Function", "innerHTML", "insertAdjacent", "fetch(", '"style"', "Storage"):
        assert forbidden not in text


def test_a_site_script_names_the_sites_origins(client: Client, shop: ChatSite) -> None:
    answer = client.get(f"/w/v1/sites/{shop.public_id}.js")
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["Cache-Control"] == "public, max-age=60"
    name, value = re.fullmatch(r"\(window.+\)\[(.+)\] = (.+);\n", answer.content.decode()).groups()  # type: ignore[union-attr]
    assert (json.loads(name), json.loads(value)) == (shop.public_id, shop.origins)


def test_a_site_script_for_an_unknown_site_reports_it(client: Client, shop: ChatSite) -> None:
    ChatSite.objects.update(is_active=False)
    for public_id in (shop.public_id, "pub_nobody"):
        answer = client.get(f"/w/v1/sites/{public_id}.js")
        assert answer.status_code == 200  # a 404 would be one more line in that page's console
        assert answer.content.decode().endswith(f'["{public_id}"] = null;\n')


# -- The frame ----------------------------------------------------------------------------------------------
def test_only_the_sites_own_pages_may_frame_the_chat(client: Client, shop: ChatSite) -> None:
    answer = client.get(f"/embed/{shop.public_id}/", {"lang": "he"})
    policy = policy_of(answer)
    assert policy.pop("frame-ancestors") == "https://shop.example https://www.shop.example:8443"
    ordinary = policy_of(client.get("/"))
    assert ordinary.pop("frame-ancestors") == "'none'"
    assert policy == ordinary and "unsafe" not in str(policy)
    assert "X-Frame-Options" not in answer.headers
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert not answer.cookies
    html = answer.content.decode()
    assert 'lang="he" dir="rtl"' in html and shop.public_id in html
    assert html.count("<script") == html.count('<script type="module" src=') == 1
    assert not re.search(r"<style| style=| on[a-z]+=", html)


def test_the_frame_of_an_unknown_site_is_not_found_and_cannot_be_framed(
    client: Client, shop: ChatSite
) -> None:
    ChatSite.objects.update(is_active=False)
    for public_id in (shop.public_id, "pub_nobody"):
        answer = client.get(f"/embed/{public_id}/")
        assert answer.status_code == 404
        assert policy_of(answer)["frame-ancestors"] == "'none'"
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_site_without_a_clean_origin_cannot_be_framed(client: Client) -> None:
    site = ChatSite.objects.create(name="Broken", origins=["*", "https://x.example; script-src *"])
    assert policy_of(client.get(f"/embed/{site.public_id}/"))["frame-ancestors"] == "'none'"


@pytest.mark.parametrize("path", ["/", "/continue/", "/admin/login/", "/api/docs/", "/no/such/page/"])
def test_no_other_page_can_be_framed(client: Client, path: str) -> None:
    answer = client.get(path)
    assert policy_of(answer)["frame-ancestors"] == "'none'"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    if path != "/api/docs/":  # its own package opens windows of other sites
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_page_that_leaves_the_frame_is_strict_and_not_cached(client: Client) -> None:
    answer = client.get("/continue/", {"lang": "he"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert 'dir="rtl"' in answer.content.decode()


def test_the_demo_shop_exists_in_development_only(client: Client, settings: Settings) -> None:
    assert client.get("/demo/shop/").status_code == 404
    settings.DEBUG = True
    answer = client.get("/demo/shop/")
    assert policy_of(answer)["frame-src"] == "'self'" and "unsafe" not in str(policy_of(answer))
    assert '<script src="/w/v1/loader.js" data-site="pub_demo"' in answer.content.decode()
    assert "/demo/shop/" in client.get("/").content.decode()


# -- Tickets ------------------------------------------------------------------------------------------------
def test_the_frames_page_gets_a_ticket(client: Client, shop: ChatSite) -> None:
    answer = client.post(
        f"/embed/{shop.public_id}/ticket/", headers={"origin": OURS, "sec-fetch-site": "same-origin"}
    )
    assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-store"
    assert list(answer.json()) == ["ticket"] and len(answer.json()["ticket"]) >= 32
    assert Ticket.objects.get().site == shop
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "https://shop.example"},
        {"origin": "http://testserver.evil.example"},
        {"origin": "http://testserver:81"},
        {"origin": f"{OURS}/"},
        {"origin": OURS, "sec-fetch-site": "cross-site"},
        {"origin": OURS, "sec-fetch-site": "same-site"},
        {"origin": OURS, "sec-fetch-site": "none"},
    ],
)
def test_other_pages_get_no_ticket(client: Client, shop: ChatSite, headers: dict[str, str]) -> None:
    answer = client.post(f"/embed/{shop.public_id}/ticket/", headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error": "forbidden_origin"})
    assert not Ticket.objects.exists()


def test_tickets_are_limited_per_address(client: Client, shop: ChatSite, settings: Settings) -> None:
    settings.CHAT_SOCKETS_PER_MINUTE = 2
    path, headers = f"/embed/{shop.public_id}/ticket/", {"origin": OURS}
    assert [client.post(path, headers=headers).status_code for _ in range(3)] == [200, 200, 429]
    assert client.post(path, headers=headers, REMOTE_ADDR="192.0.2.9").status_code == 200


def test_behind_a_proxy_the_clients_own_address_counts(
    client: Client, shop: ChatSite, settings: Settings
) -> None:
    settings.TRUSTED_PROXIES = 1
    path, headers = f"/embed/{shop.public_id}/ticket/", {"origin": OURS}
    for seen in ("192.0.2.1", "192.0.2.2, 192.0.2.1", "192.0.2.3"):
        client.post(path, headers={**headers, "x-forwarded-for": seen})
    assert Ticket.objects.values("address_key").distinct().count() == 2


def test_an_unknown_site_and_a_get_request_get_no_ticket(client: Client, shop: ChatSite) -> None:
    assert client.get(f"/embed/{shop.public_id}/ticket/").status_code == 405
    assert client.post("/embed/pub_nobody/ticket/", headers={"origin": OURS}).status_code == 404


@pytest.mark.parametrize("policy", ["otp", "dob"])
def test_the_page_of_a_mails_link_says_how_its_inbox_works(
    client: Client, settings: Settings, policy: str
) -> None:
    settings.DEBUG, settings.CHAT_IDENTITY = True, policy
    shown = client.get("/reply/", {"lang": "en"}).content.decode()
    assert ("Codes go to" in shown) is (policy == "otp")
    assert ("asks for the date of birth" in shown) is (policy == "dob")
