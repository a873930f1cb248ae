"""A mail server and a webhook for tests, on real sockets; both can refuse, be slow, and say what they took."""

import json
import socketserver
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Mail:
    """One message that the server took, or was given before its sender went away."""

    to: str
    subject: str
    message_id: str
    body: str


class MailSink:
    """An SMTP server that keeps what it is sent."""

    def __init__(self, port: int = 0) -> None:
        self.mails: list[Mail] = []
        # Called with each message after it was taken and before that is answered.
        self.on_mail: Callable[[Mail], None] = lambda mail: None
        self.refuses: Callable[[str], bool] = lambda recipient: False
        self.seconds = 0.0
        # Answer nothing to a message's text, although it is kept.
        self.is_mute = False
        sink = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                sink._talk(self.rfile, self._say)

            def _say(self, line: str) -> None:
                self.wfile.write(f"{line}\r\n".encode())

        self._server = _Server(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_address[1])
        _serve(self._server)

    def __enter__(self) -> "MailSink":
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def counts(self) -> Counter[str]:
        """How often each message id came."""
        return Counter(mail.message_id for mail in list(self.mails))

    def _talk(self, lines: Any, say: Callable[[str], None]) -> None:
        to = ""
        say("220 sink")
        while line := lines.readline():
            verb = line[:4].upper().decode("latin-1").strip()
            if verb == "RCPT":
                to = line.decode().partition("<")[2].partition(">")[0]
                say(f"550 no such person {to}" if self.refuses(to) else "250 ok")
            elif verb == "DATA":
                say("354 go on")
                if not self._take(to, lines):
                    return
                if self.is_mute:
                    time.sleep(30)
                say("250 taken")
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")

    def _take(self, to: str, lines: Any) -> bool:
        text = b""
        while (line := lines.readline()) != b".\r\n":
            if not line:
                return False
            text += line
        if self.seconds:
            time.sleep(self.seconds)
        found = message_from_bytes(text)
        mail = Mail(
            to,
            str(make_header(decode_header(found["Subject"]))),
            found["Message-ID"],
            found.get_payload(decode=True).decode(),  # type: ignore[union-attr]
        )
        self.mails.append(mail)
        self.on_mail(mail)
        return True


@dataclass
class Call:
    """One request that the webhook read to its end."""

    key: str
    body: bytes
    headers: dict[str, str] = field(repr=False)
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebSink:
    """An HTTP server that has an effect once per Idempotency-Key, as the contract asks of receivers."""

    def __init__(self, port: int = 0) -> None:
        self.calls: list[Call] = []
        self.effects: dict[str, Call] = {}
        # The status of the answer, and after how many seconds; any but 2xx has no effect.
        self.status: Callable[[Call], int] = lambda call: 204
        self.seconds: Callable[[Call], float] = lambda call: 0.0
        self._lock = threading.Lock()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = sink._take(
                    Call(self.headers["Idempotency-Key"], body, dict(self.headers), time.time())
                )
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = _WebServer(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/handoffs"
        _serve(self._server)

    def __enter__(self) -> "WebSink":
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, call: Call) -> int:
        with self._lock:
            self.calls.append(call)
            status = self.status(call)
            if 200 <= status < 300:
                self.effects.setdefault(call.key, call)
        time.sleep(self.seconds(call))
        return status


class _Tolerant:
    """Overlooks clients that went away: killed senders are what these tests are about."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, *args: object) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*args)  # type: ignore[misc]


class _Server(_Tolerant, socketserver.ThreadingTCPServer):
    """For mail."""


class _WebServer(_Tolerant, ThreadingHTTPServer):
    """For the webhook."""


def _serve(server: socketserver.BaseServer) -> None:
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
