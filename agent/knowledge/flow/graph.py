"""The flow as LangGraph graphs: S4's nodes and edges, with the retrieval sub-graph. Import this lazily: LangGraph is slow to load.

No checkpointer and no interrupt: a run lives as long as one question.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, Final

# Whatever the environment says, nothing about a question is sent to a tracing service.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from agent.knowledge.flow import state as names
from agent.knowledge.flow.composing import compose, fallback_node
from agent.knowledge.flow.opening import decide, ingest_query
from agent.knowledge.flow.orchestrating import create_query, rag_agent
from agent.knowledge.flow.retrieving import filter_agent, retrieve_from_kb, topic_classify
from agent.knowledge.flow.running import Running
from agent.knowledge.flow.state import Shared

Node = Callable[[Shared, Running], Shared]
EDGES: Final[dict[str, dict[str, str]]] = {
    names.INGEST: {"default": names.DECIDE},
    names.DECIDE: {"direct_response": END, "retrieve_kb": names.RAG, "fallback": names.FALLBACK},
    names.RAG: {
        "create_retrieval_query": names.CREATE_QUERY,
        "retrieve_kb": names.RETRIEVE_FLOW,
        "compose_answer": names.COMPOSE,
        "fallback": names.FALLBACK,
    },
    names.CREATE_QUERY: {"default": names.RETRIEVE_FLOW, "fallback": names.FALLBACK},
    names.RETRIEVE_FLOW: {"default": names.RAG, "fallback": names.FALLBACK},
    names.COMPOSE: {"default": END, "fallback": names.FALLBACK},
    names.FALLBACK: {"default": END},
}
"""Of the flow: where each action of a node leads."""
RETRIEVAL_EDGES: Final[dict[str, dict[str, str]]] = {
    names.CLASSIFY: {"default": names.RETRIEVE, "fallback": END},
    names.RETRIEVE: {"default": names.FILTER, "fallback": END},
    names.FILTER: {"default": END, "fallback": END},
}
"""Of the sub-graph: its action "fallback" leads to FallbackNode from the flow's own edge."""


@cache
def flow_graph() -> Any:
    """Return the compiled flow, one per process."""
    nodes: dict[str, Any] = {
        names.INGEST: _node(names.INGEST, ingest_query),
        names.DECIDE: _node(names.DECIDE, decide),
        names.RAG: _node(names.RAG, rag_agent),
        names.CREATE_QUERY: _node(names.CREATE_QUERY, create_query),
        names.RETRIEVE_FLOW: retrieval_graph(),
        names.COMPOSE: _node(names.COMPOSE, compose),
        names.FALLBACK: _node(names.FALLBACK, fallback_node),
    }
    return _graph(names.INGEST, nodes, EDGES)


@cache
def retrieval_graph() -> Any:
    """Return the compiled retrieval sub-graph."""
    nodes = {
        names.CLASSIFY: _node(names.CLASSIFY, topic_classify),
        names.RETRIEVE: _node(names.RETRIEVE, retrieve_from_kb),
        names.FILTER: _node(names.FILTER, filter_agent),
    }
    return _graph(names.CLASSIFY, nodes, RETRIEVAL_EDGES)


def _graph(first: str, nodes: dict[str, Any], edges: dict[str, dict[str, str]]) -> Any:
    builder: Any = StateGraph(Shared, context_schema=Running)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_conditional_edges(name, _action, edges[name])
    builder.add_edge(START, first)
    return builder.compile()


def _node(name: str, work: Node) -> Callable[..., Shared]:
    def node(shared: Shared, runtime: Runtime[Running]) -> Shared:
        runtime.context.enter(name)
        return work(shared, runtime.context)

    return node


def _action(shared: Shared) -> str:
    return shared["action"]
