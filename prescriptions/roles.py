"""Define the groups of staff and their permissions; every `migrate` sets the groups to this table.

Only the clinical groups and the auditor see patients; a technician sees of a refill what is prepared, not for whom it
was checked, and of hand-offs only those for technicians, without what is on record of the patient. An administrator manages accounts, stores, the on-call roster and embedding sites, but sees no patients. Endocrinologists and dentists only ask the
knowledge base, in the collection that is written for them (`agent.knowledge.roles`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission, User

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
_KNOWLEDGE: Final = ["agent.knowledgeentry", "agent.unansweredquestion"]
_ASKING: Final = {"agent.view_knowledgequestion"}
_DECIDING: Final = [
    "prescriptions.view_refillrequest",
    "prescriptions.add_refillrequest",
    "prescriptions.decide_refillrequest",
    "prescriptions.fulfil_refillrequest",
]
_DEAD_LETTERS: Final = {"prescriptions.view_notification", "prescriptions.retry_notification"}
_ALL: Final = ("view", "add", "change", "delete")


def _allow(actions: Iterable[str], models: Iterable[str]) -> set[str]:
    """Return "app.action_model" for every action and model."""
    chosen = list(actions)
    return {
        f"{app}.{action}_{model}" for app, model in (name.split(".") for name in models) for action in chosen
    }


_SWITCHES: Final = _allow(["view", "change"], ["prescriptions.siteswitches"])
_EVERYBODY: Final = _allow(["view"], [*_CATALOGUE, *_STOCK, *_STORES, "stores.siteanswer"])
_DESK: Final = _allow(["view", "change"], ["prescriptions.handoff"]) | {"prescriptions.view_replytemplate"}
_CLINICAL: Final = (
    _EVERYBODY
    | _DESK
    | _allow(["view"], [*_PATIENTS, *_CONVERSATIONS, *_KNOWLEDGE, "prescriptions.oncall"])
    | set(_DECIDING)
    | _ASKING
)

ROLES: Final[Mapping[str, set[str]]] = {
    "technician": _EVERYBODY
    | _DESK
    | {"inventory.change_stocklevel"}
    | {"prescriptions.view_refillrequest", "prescriptions.fulfil_refillrequest"},
    "pharmacist": _CLINICAL
    | {"inventory.change_stocklevel", "inventory.add_stocklevel", "prescriptions.change_patient"}
    | _SWITCHES
    | {"stores.change_siteanswer", "agent.publish_knowledgeentry", "agent.change_unansweredquestion"}
    | _DEAD_LETTERS
    | _allow(["add", "change"], ["prescriptions.replytemplate", "agent.knowledgeentry"])
    | _allow(["delete"], ["agent.knowledgeentry"])
    | _allow(["add", "change", "delete"], [*_CATALOGUE, "prescriptions.allergy"]),
    "physician": _CLINICAL,
    "endocrinologist": _ASKING,
    "dentist": _ASKING,
    "auditor": _EVERYBODY
    | _allow(
        ["view"],
        [
            *_PATIENTS,
            *_CONVERSATIONS,
            *_KNOWLEDGE,
            "prescriptions.handoff",
            "prescriptions.replytemplate",
            "prescriptions.refillrequest",
            "prescriptions.oncall",
            "prescriptions.notification",
            "prescriptions.auditevent",
            "prescriptions.siteswitches",
            "auth.user",
            "auth.group",
            "staff.signincount",
            "staff.accountrequest",
            "agent.chatsite",
        ],
    ),
    "administrator": _EVERYBODY
    | _allow(_ALL, [*_STORES, "prescriptions.oncall"])
    | _DEAD_LETTERS
    | {"stores.change_siteanswer", "prescriptions.switch_site"}
    | _SWITCHES
    | _allow(["view", "add", "change"], ["auth.user"])
    | _allow(["view"], ["auth.group", "staff.signincount", "staff.accountrequest"])
    | {"staff.unlock_signincount", "staff.decide_accountrequest"}
    | _allow(_ALL, ["agent.apikey"])
    | _allow(["view", "add", "change"], ["agent.chatsite"]),
}


def roles_of(user: User) -> set[str]:
    """Return the names of somebody's groups."""
    return set(user.groups.values_list("name", flat=True))


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
