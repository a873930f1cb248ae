"""Walk a request with LangGraph: a node for each state and an edge for each transition, both built from the table.

The database is the record: no checkpointer and no interrupt. A walk begins at the stored state and ends where the
request waits for a customer, a backend or a person. Import this lazily: LangGraph takes more than a second to load.
"""

import os
from functools import cache
from typing import Any, TypedDict

# Whatever the environment says, nothing about a walk is sent to a tracing service.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langgraph.graph import END, START, StateGraph

from prescriptions.models import RefillRequest
from prescriptions.refill.states import TABLE, State
from prescriptions.refill.steps import step


class Walk(TypedDict):
    """What the nodes pass on: the request's row, its state, and whether the last step moved it."""

    pk: int
    state: str
    moved: bool


def walk(pk: int) -> str:
    """Walk the request as far as it goes now and return its state. Raises RefillChangedMeanwhile."""
    state = RefillRequest.objects.values_list("state", flat=True).get(pk=pk)
    result: dict[str, Any] = graph().invoke({"pk": pk, "state": state, "moved": True})
    return str(result["state"])


@cache
def graph() -> Any:
    """Return the compiled graph, one per process."""
    builder: Any = StateGraph(Walk)
    names = {str(state): str(state) for state in State}
    for state in State:
        builder.add_node(str(state), _node)
    builder.add_conditional_edges(START, lambda walking: walking["state"], names)
    for state, events in TABLE.items():
        targets = {str(target): str(target) for target in events.values()}
        if targets:
            builder.add_conditional_edges(str(state), _following, {**targets, END: END})
        else:
            builder.add_edge(str(state), END)
    return builder.compile()


def _node(walking: Walk) -> dict[str, Any]:
    request = RefillRequest.objects.select_related("patient", "prescription__medication", "store").get(
        pk=walking["pk"]
    )
    moved = step(request)
    return {"state": request.state, "moved": moved}


def _following(walking: Walk) -> str:
    return walking["state"] if walking["moved"] else END
