"""Make a POST safe to repeat: the same `Idempotency-Key` and body get the same response, another body gets 422.

The row is written before the work begins and holds the response afterwards. A repetition that comes meanwhile waits for
it. Work that dies leaves the row without a response; after a while a repetition does the work again, which must
itself be safe to repeat under the key.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from agent.models import ApiKey, IdempotentCall
from agent.web.http import Invalid

HEADER: Final = "Idempotency-Key"
PATTERN: Final = r"^[!-~]{1,255}$"
_KEY: Final = re.compile(PATTERN)
_WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05
_LOST: Final = timedelta(seconds=60)


class KeyReused(APIException):
    """The key was used for another request (422)."""

    status_code = 422
    default_detail = "This Idempotency-Key was used for another request. Send this one with a new key."


class StillWorking(APIException):
    """The first request under this key is not finished (503, with Retry-After)."""

    status_code = 503
    wait = 5
    default_detail = (
        f"The first request with this Idempotency-Key is not finished. Try again in {wait} seconds."
    )


def key_of(request: Request) -> str:
    """Return the request's key. Raises Invalid."""
    key = request.headers.get(HEADER, "")
    if not _KEY.fullmatch(key):
        raise Invalid(
            [{"field": HEADER, "message": "This header is required: 1 to 255 printable ASCII characters."}]
        )
    return key


def once(request: Request, api_key: ApiKey, work: Callable[[], Response]) -> Response:
    """Return the response of the first call under this key; `work` runs once. Raises KeyReused, StillWorking."""
    key, fingerprint = key_of(request), _fingerprint(request)
    row, is_new = _claimed(api_key, key, fingerprint)
    if row.fingerprint != fingerprint:
        raise KeyReused
    if not is_new:
        done = _finished(row)
        if done:
            return _stored(done)
    try:
        response = work()
    except Exception:
        # Nothing to repeat: the next call tries again.
        IdempotentCall.objects.filter(pk=row.pk, status__isnull=True).delete()
        raise
    body = JSONRenderer().render(response.data).decode()
    IdempotentCall.objects.filter(pk=row.pk).update(status=response.status_code, body=body)
    return response


def _claimed(api_key: ApiKey, key: str, fingerprint: str) -> tuple[IdempotentCall, bool]:
    """Return the key's row, and whether this call made it."""
    try:
        with transaction.atomic():
            row = IdempotentCall.objects.create(api_key=api_key, key=key, fingerprint=fingerprint)
            return row, True
    except IntegrityError:
        row_or_none = IdempotentCall.objects.filter(api_key=api_key, key=key).first()
    if row_or_none is None:
        raise StillWorking
    return row_or_none, False


def _finished(row: IdempotentCall) -> IdempotentCall | None:
    """Wait until the first call has its response; None when it died, and this call must do the work."""
    until = time.monotonic() + _WAIT_SECONDS
    while row.status is None:
        if timezone.now() - row.created_at > _LOST:
            return None
        if time.monotonic() > until:
            raise StillWorking
        time.sleep(_POLL_SECONDS)
        again = IdempotentCall.objects.filter(pk=row.pk).first()
        if again is None:
            raise StillWorking
        row = again
    return row


def _stored(row: IdempotentCall) -> Response:
    return Response(json.loads(row.body), status=row.status)


def _fingerprint(request: Request) -> str:
    content: Any = [request.method, request.path, request.data]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
