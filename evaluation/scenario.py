"""Read scenarios: who talks, what is said, what an ideal assistant does, what it must and must not say.

A file of `fixtures/scenarios` is a family, a list of scenarios:

    - name: advil-in-jaffa                 # unique
      lang: en                             # the page's language
      who: ["10000101"]                    # demo patients whose data may be shown after a right code
      identity: dob                        # how customers prove who they are; without it by a code
      location: {lat: 32.07, lng: 34.77}   # shared with each message
      plants: [...]                        # rows changed before it begins: {rows: app.model, where: {...}, set: {...}}
      faults: [...]                        # what fails, see `evaluation/faults.py`
      turns:
        - say: Do you have Advil in Jaffa? # or `code: demo` (the code from the demo inbox as a message),
                                           # `code_field: demo` (in its own field), `person: true` (the button),
                                           # `confirm: "yes"` (the card's button; `say` is what is said when there is no card)
          wait: 20                         # minutes that pass before it
          gold: [{check_stock: {...}}]     # the calls of an ideal assistant: tools, or the server's actions
          may: [{identity.code: {...}}]    # further actions, optional
          uses: [check_stock]              # tools that must be called; `tools: []`: none may be called
          must: [Jaffa, [a, b], ~out_of_stock]  # a list: any of them; ~name: a meaning, in whatever words
          must_not: [you should]
          lang: en                         # language of the answer
          events: [identity.requested]     # numbered events beside the messages
          offline: {tools: [...], must: [...], cards: [...]}  # expected of the offline model only: its calls in
                                           # order, its words, its cards; checked by tests, not by evaluations
      communicate: ["03-555-0104"]         # must have been said by the end
      baselines: {nothing: 0, handoff: 0}  # the scores of doing nothing and of always handing off

At the end the database must equal a fresh copy on which the gold actions were replayed (`gold.py`).
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
    """What is expected of the offline model in addition."""

    tools: list[str] | None = None
    must: list[Wanted] = []
    cards: list[str] = []


class Turn(_Data):
    """One thing that the customer does, and the answer that is expected."""

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
        """The code that the customer enters, as a message or in its field; "demo" means the code that was sent."""
        return self.code or self.code_field


class Plant(_Data):
    """Rows of the scenario's own database to be changed before it begins."""

    rows: str
    where: dict[str, Any]
    set: dict[str, Any]


class Fault(_Data):
    """Something that fails during the conversation."""

    kind: Literal["query_fails", "model_down", "mail_fails"]
    table: str = ""


class Claim(_Data):
    """How many rows of a table must fulfil a condition afterwards."""

    table: str
    where: str = "1 = 1"
    count: int


class Baselines(_Data):
    """The scores of assistants that do nothing or always hand off."""

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
    identity: Literal["otp", "dob", "identifier"] = "otp"
    location: dict[str, float] | None = None
    plants: list[Plant] = []
    faults: list[Fault] = []
    communicate: list[Wanted] = []
    database: list[Claim] = []
    baselines: Baselines = Baselines()

    @property
    def plain(self) -> bool:
        """Whether any served site can play it: no rows changed, no faults, no clock moved, no setting of its own."""
        has_needs = self.plants or self.faults or self.identity != "otp"
        return not (has_needs or any(turn.wait for turn in self.turns))


@cache
def scenarios_all() -> tuple[Scenario, ...]:
    """Return every scenario; its family is the name of its file."""
    scenarios = []
    for path in sorted((Path(settings.BASE_DIR) / "fixtures" / "scenarios").glob("*.yaml")):
        for scenario in yaml_read(path) or []:
            scenarios.append(Scenario(family=path.stem, **scenario))
    return tuple(scenarios)


def scenario_get(name: str) -> Scenario:
    """Return the scenario with this name."""
    return next(scenario for scenario in scenarios_all() if scenario.name == name)


def scenarios_chosen(languages: Iterable[str], families: Iterable[str]) -> list[Scenario]:
    """Return the scenarios in these languages and, if any are named, of these families."""
    languages, families = set(languages), set(families)
    return [
        scenario
        for scenario in scenarios_all()
        if scenario.lang in languages and (not families or scenario.family in families)
    ]
