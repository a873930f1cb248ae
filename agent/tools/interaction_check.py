"""S1 `interaction_check`: what is on file about taking several medications together.

Evidence of a success: `pairs`: `[{a, b, level, kind, ingredients: [{en, he}]}]` (ids in the order asked), `medications`:
`{id: {en, he}}`, `unassessed`: `[{medication, en, he}]`. Of UNKNOWN_MED_ID: `unknown` (as sent), `unassessed`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field

from agent.answers.tool_sentences import tool_text
from agent.evidence import Labels, PairFacts, UnassessedFacts
from agent.tools.base import Answer, Arguments, MedicationRef, Refusal, Result, Tool, ToolContext
from agent.tools.envelopes import SuccessS1
from inventory import catalog
from inventory.errors import MedicationNotFound, UnassessedIngredients
from inventory.interactions import Pair, interactions_check
from inventory.models import Ingredient, Medication
from pharmacy_site.lib.bilingual import both, named
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language

MOST_IDS: Final = 50


class InteractionCheckArguments(Arguments):
    """The medications that are to be taken together."""

    med_ids: Annotated[list[MedicationRef], Field(max_length=MOST_IDS)]
    language: Language


class InteractionPair(Result):
    """Two medications with a level and our sentence for it."""

    med_id_a: str
    med_id_b: str
    level: Literal["caution", "avoid"]
    message: str


class InteractionCheckSuccess(SuccessS1):
    """The worst level and every pair that has one."""

    interaction_level: Literal["none", "caution", "avoid"]
    pairs: list[InteractionPair]
    notes: str | None


class InteractionCheckError(Result):
    """S1's error."""

    code: Literal["UNKNOWN_MED_ID", "DB_ERROR"]
    message: str


class InteractionCheckFailure(Result):
    """Something unknown was asked about, or no database."""

    ok: Literal[False]
    error: InteractionCheckError


class UnknownMedications(PharmacyError):
    """Some of the ids are no medication; all of them are named at once."""

    def __init__(self, refs: list[int | str]) -> None:
        super().__init__("unknown medications")
        self.refs = refs


def run(arguments: InteractionCheckArguments, context: ToolContext) -> Answer:
    """Return every pair on file; "none" only if everything was assessed."""
    medications = _medications(arguments.med_ids)
    report = interactions_check(medications)
    if report.level == "none" and report.unassessed:
        raise UnassessedIngredients(cast("Any", report.unassessed))  # also products without contents
    language = arguments.language
    if report.unassessed:
        notes: str | None = tool_text(
            "unassessed", language, names=", ".join(_names(report.unassessed, language))
        )
    else:
        notes = tool_text("none_listed", language) if report.level == "none" else None
    success = InteractionCheckSuccess(
        interaction_level=report.level,
        pairs=[
            InteractionPair(
                med_id_a=str(pair.a.pk),
                med_id_b=str(pair.b.pk),
                level=pair.level,
                message=_message(pair, language),
            )
            for pair in report.pairs
        ],
        notes=notes,
    )
    return Answer(
        success,
        {
            "pairs": [_pair_facts(pair) for pair in report.pairs],
            "medications": {str(found.pk): _labels(found) for found in medications},
            "unassessed": _unassessed_facts(report.unassessed),
        },
    )


def refuse(error: PharmacyError, arguments: InteractionCheckArguments, context: ToolContext) -> Refusal:
    """Name what cannot be assessed."""
    if isinstance(error, UnassessedIngredients):
        names = ", ".join(_names(error.unassessed, arguments.language))
        return Refusal(
            tool_text("unassessed", arguments.language, names=names),
            evidence={"unknown": [], "unassessed": _unassessed_facts(error.unassessed)},
        )
    refs = [str(ref) for ref in error.refs] if isinstance(error, UnknownMedications) else []
    return Refusal(
        tool_text("unknown_ids", arguments.language, names=", ".join(refs)),
        evidence={"unknown": refs, "unassessed": []},
    )


def _medications(refs: Sequence[int | str]) -> list[Medication]:
    found: dict[int, Medication] = {}
    unknown = []
    for ref in dict.fromkeys(refs):
        try:
            medication = catalog.medication_get(ref)
        except MedicationNotFound:
            unknown.append(ref)
        else:
            found.setdefault(medication.pk, medication)
    if unknown:
        raise UnknownMedications(unknown)
    return list(found.values())


def _message(pair: Pair, language: Language) -> str:
    names = {"a": named(pair.a, language), "b": named(pair.b, language)}
    if pair.kind == "same_ingredient":
        shared = ", ".join(named(ingredient, language) for ingredient in pair.ingredients)
        return tool_text("pair_same", language, ingredients=shared, **names)
    return tool_text(f"pair_{pair.level}", language, **names)


def _names(unassessed: Sequence[tuple[Medication, Ingredient | None]], language: Language) -> list[str]:
    names = []
    for medication, ingredient in unassessed:
        name = named(medication, language)
        part = named(ingredient, language) if ingredient else ""
        names.append(f"{name} ({part})" if part and part != name else name)
    return list(dict.fromkeys(names))


def _labels(row: Medication | Ingredient) -> Labels:
    english, hebrew = both(row, "name")
    return {"en": english, "he": hebrew}


def _pair_facts(pair: Pair) -> PairFacts:
    return {
        "a": pair.a.pk,
        "b": pair.b.pk,
        "level": pair.level,
        "kind": pair.kind,
        "ingredients": [_labels(ingredient) for ingredient in pair.ingredients],
    }


def _unassessed_facts(unassessed: Sequence[tuple[Medication, Ingredient | None]]) -> list[UnassessedFacts]:
    return [
        {"medication": medication.pk, **(_labels(ingredient) if ingredient else _labels(medication))}
        for medication, ingredient in unassessed
    ]


TOOL = Tool(
    name="interaction_check",
    family="S1",
    description=(
        "Check the interactions on file among two or more medications, by their ids. A pair marked avoid must be "
        "passed on as an explicit warning that they cannot be taken together, without advice what to do."
    ),
    arguments=InteractionCheckArguments,
    success=(InteractionCheckSuccess,),
    failure=InteractionCheckFailure,
    run=run,
    refuse=refuse,
    codes={UnknownMedications: "UNKNOWN_MED_ID"},
)
