"""Load the demo's patients, prescriptions and staff accounts from YAML; safe to repeat."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import Group, User
from django.core.management.color import no_style
from django.db import connection
from django.utils import timezone

from inventory.models import Ingredient, Medication
from pharmacy_site.lib.yaml_files import yaml_read
from prescriptions.models import (
    Allergy,
    CoverageRule,
    LabRule,
    OnCall,
    Patient,
    Prescription,
    ScheduleRule,
    SimulatedLab,
    SupplyLimit,
)

_PASSWORD_BYTES: Final = 12
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Login:
    """A staff account; the password is known only when the account is created."""

    username: str
    group: str
    password: str | None


@dataclass
class Loaded:
    """What a load created or updated."""

    patients: int = 0
    prescriptions: int = 0
    logins: list[Login] = field(default_factory=list)


def load(folder: Path) -> Loaded:
    """Write the demo's patients, allergies, prescriptions and accounts, with dates relative to today.

    `folder` is the fixtures folder with `demo/patients.yaml` and `demo/staff.yaml`. Medications and ingredients must be
    loaded already. The caller opens the transaction.
    """
    loaded = Loaded()
    today = timezone.localdate()
    for row in _read(folder / "demo" / "patients.yaml"):
        patient = _patient(row, today)
        loaded.patients += 1
        for item in row.get("prescriptions") or []:
            _prescription(patient, item, today)
            loaded.prescriptions += 1
    _advance_ids()
    refill_rules_load(folder)
    loaded.logins = [_login(row) for row in _read(folder / "demo" / "staff.yaml")]
    return loaded


def refill_rules_load(folder: Path) -> None:
    """Write the rules that refills are checked by, and the simulated record's laboratory values."""
    path = folder / "demo" / "refills.yaml"
    rules: Mapping[str, Any] = (yaml_read(path) or {}) if path.exists() else {}
    today = timezone.localdate()
    for row in rules.get("schedules") or []:
        ScheduleRule.objects.update_or_create(schedule=row["schedule"], defaults=_without(row, "schedule"))
    for row in rules.get("supply_limits") or []:
        SupplyLimit.objects.update_or_create(
            medication_id=row["medication"], defaults=_without(row, "medication")
        )
    for row in rules.get("coverage") or []:
        CoverageRule.objects.update_or_create(
            medication_id=row["medication"], defaults=_without(row, "medication")
        )
    for row in rules.get("lab_rules") or []:
        ingredient = Ingredient.objects.get(key=row["ingredient"])
        LabRule.objects.update_or_create(
            ingredient=ingredient, code=row["code"], defaults=_without(row, "ingredient", "code")
        )
    for row in rules.get("simulated_labs") or []:
        SimulatedLab.objects.update_or_create(
            mrn=str(row["mrn"]),
            code=row["code"],
            defaults={"value": row["value"], "taken_on": _days_ago(today, row["days_ago"])},
        )


def logins() -> list[Login]:
    """Return the existing staff accounts, without passwords."""
    users = User.objects.filter(is_staff=True, is_active=True).prefetch_related("groups").order_by("username")
    return [
        Login(user.username, ", ".join(group.name for group in user.groups.all()), None) for user in users
    ]


def _read(path: Path) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = yaml_read(path) or []
    return rows


def _patient(row: Mapping[str, Any], today: date) -> Patient:
    allergies = row["allergies"]
    recorded_days_ago = allergies.get("recorded_days_ago")
    patient, _ = Patient.objects.update_or_create(
        mrn=str(row["mrn"]),
        defaults={
            "name_en": row["name"]["en"],
            "name_he": row["name"]["he"],
            "email": row["email"].lower(),
            "phone": row["phone"],
            "address": row.get("address") or "",
            "born": _as_date(row["born"]),
            "language": row["language"],
            "allergy_status": allergies["status"],
            "allergies_recorded_on": _days_ago(today, recorded_days_ago),
        },
    )
    patient.allergies.all().delete()
    for item in allergies.get("items") or []:
        key = item.get("ingredient")
        Allergy.objects.create(
            patient=patient,
            ingredient=Ingredient.objects.get(key=key) if key else None,
            drug_class=item.get("class") or "",
            severity=item["severity"],
        )
    return patient


def _prescription(patient: Patient, row: Mapping[str, Any], today: date) -> None:
    issued_on = _days_ago(today, row["issued_days_ago"])
    Prescription.objects.update_or_create(
        pk=row["id"],
        defaults={
            "patient": patient,
            "medication": Medication.objects.get(pk=row["medication"]),
            "refills_left": row["refills_left"],
            "status": row["status"],
            "directions_en": row["directions"]["en"],
            "directions_he": row["directions"]["he"],
            "quantity": row["quantity"],
            "days_supply": row["days_supply"],
            "last_filled_on": _days_ago(today, row.get("last_filled_days_ago")),
            "prescriber": row["prescriber"],
            "issued_on": issued_on,
            "expires_on": today + timedelta(days=row["expires_in_days"]),
        },
    )


def _advance_ids() -> None:
    """Let PostgreSQL number new prescriptions after the demo's ids, which did not come from its sequence."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Prescription]):
            cursor.execute(statement)


def _login(row: Mapping[str, Any]) -> Login:
    """Create the account once; later loads do not change it or its password."""
    group = Group.objects.get(name=row["group"])
    user = User.objects.filter(username=row["username"]).first()
    if user is not None:
        return Login(user.username, group.name, None)
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    first, _, last = str(row["name"]).partition(" ")
    user = User.objects.create_user(
        row["username"],
        email=row.get("email") or "",
        password=password,
        first_name=first,
        last_name=last,
        is_staff=True,
    )
    user.groups.add(group)
    for line in row.get("roster") or []:
        _on_call(user, group.name, line)
    return Login(user.username, group.name, password)


def _on_call(user: User, role: str, row: Mapping[str, Any]) -> None:
    """Write a line of the roster, with the account only: staff may have changed it later."""
    starts, _, ends = str(row.get("hours") or "").partition("-")
    OnCall.objects.create(
        person=user,
        role=role,
        branch_id=row.get("branch"),
        days=[_DAYS.index(day) for day in row.get("days") or []],
        starts=time.fromisoformat(starts) if starts else None,
        ends=time.fromisoformat(ends) if ends else None,
        reasons=list(row.get("reasons") or []),
    )


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _days_ago(today: date, days: int | None) -> date | None:
    return None if days is None else today - timedelta(days=days)


def _as_date(value: date | str) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)
