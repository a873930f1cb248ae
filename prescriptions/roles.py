"""Define the groups of staff and their permissions; every `migrate` sets the groups to this table.

Only the clinical groups and the auditor see patients. An administrator manages accounts, stores and embedding sites,
but sees no patients.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

_CATALOGUE: Final = [
    "inventory.category",
    "inventory.categoryalias",
    "inventory.ingredient",
    "inventory.ingredientalias",
    "inventory.medication",
    "inventory.medicationingredient",
    "inventory.medicationalias",
    "inventory.leafletsection",
    "inventory.interaction",
]
_STOCK: Final = ["inventory.stocklevel", "inventory.stockmove"]
_STORES: Final = [
    "stores.locality",
    "stores.localityname",
    "stores.store",
    "stores.storealias",
    "stores.openinghours",
    "stores.openingexception",
]
_PATIENTS: Final = ["prescriptions.patient", "prescriptions.allergy", "prescriptions.prescription"]
_CONVERSATIONS: Final = [
    "agent.conversation",
    "agent.event",
    "agent.run",
    "agent.toolcall",
    "agent.feedback",
    "evaluation.evaluation",
    "evaluation.evaluationtrial",
]
_ALL: Final = ("view", "add", "change", "delete")


def _allow(actions: Iterable[str], models: Iterable[str]) -> set[str]:
    """Return "app.action_model" for every action and model."""
    chosen = list(actions)
    return {
        f"{app}.{action}_{model}" for app, model in (name.split(".") for name in models) for action in chosen
    }


_EVERYBODY: Final = _allow(["view"], [*_CATALOGUE, *_STOCK, *_STORES, "stores.siteanswer"])
_CLINICAL: Final = (
    _EVERYBODY
    | _allow(["view"], [*_PATIENTS, *_CONVERSATIONS])
    | _allow(["view", "change"], ["prescriptions.handoff"])
)

ROLES: Final[Mapping[str, set[str]]] = {
    "technician": _EVERYBODY | {"inventory.change_stocklevel"},
    "pharmacist": _CLINICAL
    | {"inventory.change_stocklevel", "inventory.add_stocklevel", "prescriptions.change_patient"}
    | {"stores.change_siteanswer"}
    | _allow(["add", "change", "delete"], [*_CATALOGUE, "prescriptions.allergy"]),
    "physician": _CLINICAL,
    "auditor": _EVERYBODY
    | _allow(
        ["view"],
        [
            *_PATIENTS,
            *_CONVERSATIONS,
            "prescriptions.handoff",
            "prescriptions.notification",
            "prescriptions.auditevent",
            "auth.user",
            "auth.group",
            "agent.chatsite",
        ],
    ),
    "administrator": _EVERYBODY
    | _allow(_ALL, _STORES)
    | {"stores.change_siteanswer"}
    | _allow(["view", "add", "change"], ["auth.user"])
    | _allow(["view"], ["auth.group"])
    | _allow(_ALL, ["agent.apikey"])
    | _allow(["view", "add", "change"], ["agent.chatsite"]),
}


def on_post_migrate(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Set each group's permissions on the app that was just migrated; safe to repeat."""
    wanted = {
        role: {name.split(".")[1] for name in names if name.split(".")[0] == sender.label}
        for role, names in ROLES.items()
    }
    if not any(wanted.values()):
        return
    # Django's own receiver may run after this one.
    create_permissions(sender, using=using, verbosity=0)
    permissions = Permission.objects.using(using).filter(content_type__app_label=sender.label)
    for role, codenames in wanted.items():
        group, _ = Group.objects.using(using).get_or_create(name=role)
        group.permissions.add(*permissions.filter(codename__in=codenames))
        group.permissions.remove(*permissions.exclude(codename__in=codenames))
