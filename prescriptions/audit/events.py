"""Record what staff change, and who signs out, as lines of the audit log: they come as signals.

Tries to sign in are recorded where they are counted, in `pharmacy_site/staff/`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.db.models import Model
from django.db.models.signals import post_save
from django.http import HttpRequest

from inventory.models import StockLevel, StockMove
from inventory.signals import stock_changed
from pharmacy_site.lib.admin import row_changed
from prescriptions.audit.log import audit_record

_NO_CODE: Final = re.compile(r"[^A-Za-z0-9_.:/+-]")


def connect() -> None:
    """Connect the receivers; safe to repeat."""
    for signal, receiver in (
        (stock_changed, on_stock_changed),
        (row_changed, on_row_changed),
        (user_logged_out, on_signed_out),
    ):
        signal.connect(receiver, dispatch_uid=f"prescriptions.audit.{receiver.__name__}")
    post_save.connect(on_user_saved, sender=User, dispatch_uid="prescriptions.audit.on_user_saved")


def on_stock_changed(sender: object, level: StockLevel, move: StockMove, **kwargs: object) -> None:
    """Record a stock change by staff; imports and demo data only write their movement."""
    if not move.actor.startswith("user:"):
        return
    audit_record(
        # An actor may contain a user's name.
        who=_as_code(move.actor),
        what="stock_changed",
        where="admin",
        why=move.reason,
        detail={
            "move": move.pk,
            "store": move.store_id,
            "medication": move.medication_id,
            "delta": move.delta,
            "quantity": move.quantity_after,
        },
    )


def on_row_changed(
    sender: object, actor: str, row: Model, verb: str, fields: Mapping[str, Any], **kwargs: object
) -> None:
    """Record that staff added, changed or deleted a row, with the fields."""
    audit_record(
        who=actor,
        what=f"{row._meta.model_name}_{verb}",
        where="admin",
        detail={"row": row.pk if isinstance(row.pk, int) else str(row.pk), "fields": _as_codes(fields)},
    )


def on_signed_out(
    sender: object, user: User | None, request: HttpRequest | None = None, **kwargs: object
) -> None:
    """Record that somebody signed out."""
    if user is not None:
        audit_record(who=f"user:{user.pk}", what="signed_out", where="admin")


def on_user_saved(sender: object, instance: User, **kwargs: object) -> None:
    """Record that somebody's password was set, by whatever page or command: who did it is in the line beside it."""
    # Django keeps the new one until the save is over; a hash that is only renewed leaves none.
    if getattr(instance, "_password", None) is not None:
        audit_record(who="system", what="password_set", where="accounts", detail={"user": instance.pk})


def _as_code(text: str) -> str:
    return _NO_CODE.sub("_", text)[:100]


def _as_codes(value: Any) -> Any:
    """Return a value as the audit log takes it: what is no code is written as one."""
    if isinstance(value, Mapping):
        return {_as_code(str(key)): _as_codes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_codes(item) for item in value]
    return _as_code(value) if isinstance(value, str) else value
