"""Staff as they sign in over HTTP, each from an address of their own."""

import re
from html import unescape

from django.test import Client

PASSWORD = "correct horse battery staple"
ENTRANCE = "/admin/login/?next=/admin/"


class Person:
    """A browser without a screen, at a network address."""

    def __init__(self, address: str = "203.0.113.1", language: str = "en") -> None:
        self.client = Client(REMOTE_ADDR=address, HTTP_ACCEPT_LANGUAGE=language)

    def sign_in(self, name: str, password: str = PASSWORD) -> str:
        """Send the form of the sign-in page and return the text of the page that comes."""
        return self.post(ENTRANCE, username=name, password=password)

    def get(self, path: str) -> str:
        return self._text(self.client.get(path, follow=True))

    def post(self, path: str, **fields: object) -> str:
        return self._text(self.client.post(path, fields, follow=True))

    @property
    def is_inside(self) -> bool:
        """Whether the first page of the admin is shown."""
        return self.client.get("/admin/").status_code == 200

    def _text(self, response: object) -> str:
        self.last = response
        plain = re.sub(r"<[^>]+>", " ", response.content.decode())  # type: ignore[attr-defined]
        return " ".join(unescape(plain).split())
