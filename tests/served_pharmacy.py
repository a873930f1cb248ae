"""A served pharmacy as customers and a pharmacist use it, with its database and its clock; imported by the tests that need it."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from served_site import Site
from served_sites import Sites

from evaluation.chat import Chat
from evaluation.customer import demo_code

PASSWORD = "correct horse battery"
_REASONS = {"approve": "reviewed", "deny": "unsafe"}
HEBREW = re.compile("[א-ת]")


@dataclass(frozen=True)
class Pharmacy:
    """A served site, its database, and its clock."""

    site: Site
    sites: Any
    clock: Path

    def sql(self, *statements: str) -> list[Any]:
        return list(self.sites.sql(*statements))

    def row(self, columns: str, table: str, where: str) -> dict[str, Any]:
        """The only row of a table that fits, its JSON read."""
        [row] = self.sql(f"SELECT {columns} FROM prescriptions_{table} WHERE {where}")
        named = dict(zip(columns.split(", "), row, strict=True))
        return {
            name: json.loads(value) if name in ("package", "findings") and isinstance(value, str) else value
            for name, value in named.items()
        }

    def request(self, number: int) -> dict[str, Any]:
        """The refill request of a test's patient, with the states that it passed."""
        columns = "id, number, order_key, state, outcome, reason, is_confirmed, is_paused, quantity, handoff_id, walk, language, conversation_id"
        patient = f"(SELECT id FROM prescriptions_patient WHERE mrn = '{number}')"
        found = self.row(columns, "refillrequest", f"patient_id = {patient}")
        moved = self.sql(
            "SELECT from_state, to_state FROM prescriptions_refilltransition"
            f" WHERE request_id = {found['id']} ORDER BY version"
        )
        return {**found, "path": [after for before, after in moved if after != before]}

    def handoff(self, where: str) -> dict[str, Any]:
        return self.row(
            "number, state, reason, contact, contact_why, summary, package, language", "handoff", where
        )

    def move(self, seconds: float) -> None:
        """Let the site's clock go on."""
        new = self.clock.with_name("new")
        new.write_text(str(float(self.clock.read_text()) + seconds))
        new.replace(self.clock)  # at once: the site reads it at any moment

    @contextmanager
    def staff(self) -> "Iterator[Staff]":
        with httpx.Client(base_url=self.site.url, follow_redirects=True, timeout=30) as web:
            yield Staff(web)


class Staff:
    """One of the staff in a browser without a screen."""

    def __init__(self, web: httpx.Client, name: str = "decides", password: str = PASSWORD) -> None:
        self.web = web
        self.post("/admin/login/?next=/admin/", username=name, password=password)

    def post(self, path: str, **fields: Any) -> str:
        """Send a page's form and return the page that comes."""
        page = self.web.get(path)
        token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token and page.status_code == 200, page.status_code
        version = re.search('name="version" value="([0-9]+)"', page.text)
        known = {"csrfmiddlewaretoken": token[1]} | ({"version": version[1]} if version else {})
        done = self.web.post(path, data=known | fields)
        assert done.status_code == 200
        return done.text

    def decide(self, request: dict[str, Any], decision: str) -> None:
        """Claim the hand-off of a request, and decide there."""
        path = f"/admin/prescriptions/handoff/{request['handoff_id']}/change/"
        self.post(path, act="claim")
        self.post(path, act=decision, reason=_REASONS[decision])


class Customer(Chat):
    """A customer whose page keeps what it was sent."""

    def __init__(self, pharmacy: Pharmacy, language: str) -> None:
        super().__init__(pharmacy.site.ws_url, pharmacy.site.url, language)
        self.pharmacy, self.language = pharmacy, language
        self.seen: list[dict[str, Any]] = []

    async def receive(self, *types: str) -> dict[str, Any]:
        while True:
            message = await super().receive()
            self.seen.append(message)
            if not types or message["type"] in types:
                return message

    async def say(self, text: str) -> str:
        return (await self.ask({"type": "message.send", "client_msg_id": str(uuid4()), "text": text})).text

    async def prove(self, email: str) -> None:
        """Prove to be the owner of this account by the code that was sent; the question that waited is answered."""
        await self.say(email)
        code = await demo_code(self.pharmacy.site.url, self.secret, seen=0, seconds=15)
        await self.send({"type": "identity.code", "code": code})
        await self.receive("run.completed")

    async def press(self, decision: str = "yes") -> str:
        """Press a button of the card that was shown last."""
        card = next(one for one in reversed(self.seen) if one["type"] == "confirm.requested")
        assert reads(self.language, card["summary"]["rows"][0][0])
        return (
            await self.ask({"type": "confirm.answer", "confirm_id": card["confirm_id"], "decision": decision})
        ).text

    def news(self, type: str = "refill.updated") -> list[dict[str, Any]]:
        return [one for one in self.seen if one["type"] == type]

    async def told(self, status: str, after: int = 0) -> dict[str, Any]:
        """Wait for the news that a refill is that far, beyond the first `after` news."""
        while not (found := [one for one in self.news()[after:] if one["status"] == status]):
            await self.receive("refill.updated")
        return found[-1]

    async def handed_over(self) -> dict[str, Any]:
        """Wait for the event of a hand-off."""
        while not self.news("handoff.updated"):
            await self.receive("handoff.updated")
        return self.news("handoff.updated")[0]


def reads(language: str, text: str) -> bool:
    """Whether a text is in this language."""
    return bool(HEBREW.search(text)) is (language == "he")


@contextmanager
def pharmacy_served(sites: Sites, folder: Path, **env: str) -> Iterator[Pharmacy]:
    """Serve a site whose clock moves, with a pharmacist who decides."""
    clock = folder / "ahead"
    clock.write_text("0")
    more = dict.fromkeys(("IDENTITY_CODES_PER_ADDRESS_HOUR", "CHAT_SOCKETS_PER_MINUTE"), "100000")
    # A machine at work with other tests may take seconds to greet.
    own = {
        "CHAT_HELLO_TIMEOUT": "60",
        "DJANGO_SETTINGS_MODULE": "moving_settings",
        "CLOCK": str(clock),
        "EMAIL_URL": "dummy://",
    }
    with sites(**own, **more, **env) as site:
        make = (
            "from django.contrib.auth.models import Group, User;"
            "user = User.objects.get_or_create(username='decides', is_staff=True)[0];"
            f"user.set_password('{PASSWORD}'); user.save();"
            "user.groups.add(Group.objects.get(name='pharmacist'))"
        )
        site.shell(make)
        # Enough for all tests of a module.
        sites.sql("UPDATE inventory_stocklevel SET quantity = 1000 WHERE quantity > 0")
        yield Pharmacy(site, sites, clock)
    logs = "".join(log.read_text() for log in sites.folder.glob("*.log"))
    assert "withheld" not in logs  # an apology in place of an answer of ours


@contextmanager
def failing(pharmacy: Pharmacy, system: str) -> Iterator[None]:
    """Meanwhile this system is down; none for ""."""
    if system:
        pharmacy.sql(
            f"INSERT INTO prescriptions_simulatedfault (target, mode, count) VALUES ('{system}', 'down', 1000)"
        )
    try:
        yield
    finally:
        pharmacy.sql("DELETE FROM prescriptions_simulatedfault")
