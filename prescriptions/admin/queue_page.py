"""Collect what the page of the queue shows for an address: saved views, filters, a page of rows."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import get_language

from pharmacy_site.lib.text import clean
from prescriptions.cases.queue import (
    PAGE,
    VIEWS,
    QueueRow,
    Wanted,
    newest_waiting,
    queue_counts,
    queue_rows,
    rows_shown,
)
from prescriptions.cases.wording import page_language
from prescriptions.models import LANGUAGES, Handoff
from prescriptions.refill.states import Reason
from prescriptions.refill.wording import reason_text
from stores.models import Store

_MOST_QUERY: Final = 40


@dataclass(frozen=True)
class View:
    """A saved view: a link with the number of what is in it."""

    name: str
    text: str
    query: str
    count: int | None
    is_current: bool


@dataclass(frozen=True)
class QueuePage:
    """All that the page of the queue shows; `sign` changes when other rows, or other states of them, are listed.

    `last` is the greatest key of all that wait for the reader, also of those that the view does not list: what is behind it
    is new.
    """

    wanted: Wanted
    views: Sequence[View]
    counts: Mapping[str, int]
    reasons: Sequence[tuple[str, str]]
    branches: Sequence[tuple[str, str]]
    languages: Sequence[tuple[str, Any]]
    rows: Sequence[QueueRow]
    listed: Page[Handoff]
    address: str
    sign: str
    last: int

    @property
    def listed_keys(self) -> dict[str, list[int]]:
        """Return the keys of the rows, and of the patients whom they name, as the audit log stores them."""
        patients = {row.patient_id for row in self.rows if row.patient_id is not None}
        return {"rows": [row.pk for row in self.rows], "patients": sorted(patients)}


def wanted_by(given: QueryDict) -> Wanted:
    """Read what is asked for from an address; a view that does not exist is the first one."""
    view = given.get("view", "")
    return Wanted(
        view=view if view in VIEWS else next(iter(VIEWS)),
        reason=clean(given.get("reason", ""), _MOST_QUERY),
        branch=clean(given.get("branch", ""), 10),
        language=clean(given.get("language", ""), 2),
        query=clean(given.get("q", ""), _MOST_QUERY),
    )


def queue_page(user: User, given: QueryDict) -> QueuePage:
    """Return the page of the queue for this person and this address."""
    wanted = wanted_by(given)
    listed = Paginator(queue_rows(user, wanted), PAGE).get_page(given.get("page"))
    rows = rows_shown(list(listed.object_list), user)
    counts = queue_counts(user)
    signed = "|".join(f"{row.pk}:{row.sla}:{row.claimed_by}:{row.is_urgent}:{row.is_over}" for row in rows)
    language = page_language()
    reasons = [(str(one), one.label) for one in Handoff.Reason if one != Handoff.Reason.REFILL]
    return QueuePage(
        wanted=wanted,
        views=[
            View(
                name=name,
                text=str(text),
                query=urlencode(Wanted(**{**vars(wanted), "view": name, "query": ""}).parameters),
                count=counts.get(name),
                is_current=name == wanted.view,
            )
            for name, text in VIEWS.items()
        ],
        counts=counts,
        reasons=[
            *((code, str(label)) for code, label in reasons),
            *((str(one), reason_text(one, language)) for one in Reason),
        ],
        branches=[
            (str(store.pk), str(store)) for store in Store.objects.filter(is_active=True).order_by("pk")
        ],
        languages=LANGUAGES,
        rows=rows,
        listed=listed,
        address=urlencode(wanted.parameters),
        sign=hashlib.sha256(f"{get_language()}|{signed}".encode()).hexdigest()[:16],
        last=newest_waiting(user),
    )
