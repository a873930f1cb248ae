"""Scenarios as data: who talks, what is said, what an ideal assistant does, what must and must not be told.

A file of `fixtures/scenarios` is a family, a list of scenarios:

    - name: advil-in-jaffa                 # unique
      lang: en                             # the page's language
      who: ["10000101"]                    # demo people whose data may be shown, once a code was right
      location: {lat: 32.07, lng: 34.77}   # shared with each message
      plants: [...]                        # rows changed before: {rows: app.model, where: {...}, set: {...}}
      faults: [...]                        # what fails, see `evaluation/faults.py`
      turns:
        - say: Do you have Advil in Jaffa? # or `code: demo` (the code from the demo inbox as a message),
                                           # `code_field: demo` (in its own field), `person: true` (the button),
                                           # `confirm: "yes"` (the card's button; `say` is what is said when there is no card)
          wait: 20                         # minutes that pass before it
          gold: [{check_stock: {...}}]     # the calls of an ideal assistant: tools, or the server's actions
          may: [{identity.code: {...}}]    # further actions that it may take or leave
          uses: [check_stock]              # among its tools; `tools: []`: none may be called
          must: [Jaffa, [a, b], ~out_of_stock]  # a list: any of them; ~name: a meaning, in whatever words
          must_not: [you should]
          lang: en                         # language of the answer
          events: [identity.requested]     # numbered events beside the messages
          offline: {tools: [...], must: [...], cards: [...]}  # what holds of the offline model besides: its calls in
                                           # their order, its words, its cards; tests look at it, evaluations do not
      communicate: ["03-555-0104"]         # must have been told by the end
      baselines: {nothing: 0, handoff: 0}  # what doing nothing and always handing off score

What the database holds at the end is that of a fresh copy on which the gold actions were replayed (`gold.py`).
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field

from pharmacy_site.lib.text import Language
from pharmacy_site.lib.yaml_files import yaml_read

Wanted = str | int | list[str | int]
LANGUAGES: Final = ("en", "he")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Offline(_Data):
    """What the offline model does exactly."""

    tools: list[str] | None = None
    must: list[Wanted] = []
    cards: list[str] = []


class Turn(_Data):
    """One thing that the customer does, and what must come of it."""

    say: str = ""
    code: str = ""
    code_field: str = ""
    person: bool = False
    confirm: Literal["", "yes", "no"] = ""
    wait: float = 0
    gold: list[dict[str, dict[str, Any]]] = []
    may: list[dict[str, dict[str, Any]]] = []
    uses: list[str] = []
    tools: list[str] | None = None
    must: list[Wanted] = []
    must_not: list[str] = []
    lang: str = ""
    events: list[str] = []
    error: str = ""
    offline: Offline = Offline()

    @property
    def code_typed(self) -> str:
        """The code that this turn gives, wherever it is typed; "demo" is the one that was sent."""
        return self.code or self.code_field


class Plant(_Data):
    """Rows of the scenario's own database that are changed before it begins."""

    rows: str
    where: dict[str, Any]
    set: dict[str, Any]


class Fault(_Data):
    """Something that fails during the conversation."""

    kind: Literal["query_fails", "model_down", "mail_fails"]
    table: str = ""


class Claim(_Data):
    """How many rows of a table fulfil a condition afterwards."""

    table: str
    where: str = "1 = 1"
    count: int


class Baselines(_Data):
    """What assistants that do not work score here."""

    nothing: Literal[0, 1] = 0
    handoff: Literal[0, 1] = 0


class Scenario(_Data):
    """One conversation."""

    family: str
    name: str
    lang: Language
    turns: list[Turn] = Field(min_length=1)
    who: list[str] = []
    wants: str = ""
    knows: list[str] = []
    location: dict[str, float] | None = None
    plants: list[Plant] = []
    faults: list[Fault] = []
    communicate: list[Wanted] = []
    database: list[Claim] = []
    baselines: Baselines = Baselines()

    @property
    def plain(self) -> bool:
        """Whether any served site can play it: nothing planted, nothing failing, no clock moved."""
        return not (self.plants or self.faults or any(turn.wait for turn in self.turns))


@cache
def scenarios_all() -> tuple[Scenario, ...]:
    """Every scenario, each with the family whose file it stands in."""
    found = []
    for path in sorted((Path(settings.BASE_DIR) / "fixtures" / "scenarios").glob("*.yaml")):
        for scenario in yaml_read(path) or []:
            found.append(Scenario(family=path.stem, **scenario))
    return tuple(found)


def scenario_get(name: str) -> Scenario:
    """The scenario of this name."""
    return next(scenario for scenario in scenarios_all() if scenario.name == name)


def scenarios_chosen(languages: Iterable[str], families: Iterable[str]) -> list[Scenario]:
    """Those in these languages and, when any are named, of these families."""
    languages, families = set(languages), set(families)
    return [
        scenario
        for scenario in scenarios_all()
        if scenario.lang in languages and (not families or scenario.family in families)
    ]
