"""Draw the refill workflow from LangGraph's graph as a PNG, which carries its Mermaid source in a text chunk.

Only drawing needs Graphviz' `dot`; whether a picture is up to date is read from its chunk. Loads LangGraph.
"""

import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from typing import Final

from prescriptions.refill.graph import graph
from prescriptions.refill.states import END_STATES, NEW_WALK, TABLE, State, diagram

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHUNK: Final = b"mermaid\0"
_HAPPY: Final = (State.COLLECT, State.SAFETY, State.BACKEND, State.DISPENSED)
_GREEN: Final = 'color="#2e7d32" fontcolor="#1b5e20"'
_RED: Final = 'color="#c62828" fontcolor="#b71c1c"'


class NoGraphviz(RuntimeError):
    """Graphviz is not installed here."""


class GraphDiffers(RuntimeError):
    """The graph's arrows are not those of the table."""


def arrows() -> list[tuple[State, State]]:
    """Return the arrows between states as LangGraph has them. Raises GraphDiffers.

    Besides these it has an arrow from its start to each state, where a stored request goes on, and from each to its
    end, where one waits.
    """
    drawn = graph().get_graph()
    names = [state for state in State if str(state) in drawn.nodes]
    found = {(edge.source, edge.target) for edge in drawn.edges}
    ours = [(a, b) for a in names for b in names if (str(a), str(b)) in found]
    if set(ours) != {(a, b) for a, events in TABLE.items() for b in events.values()} or names != list(State):
        raise GraphDiffers
    return ours


def source() -> str:
    """Return the graph as Mermaid; its arrows have been compared with the table's. Raises GraphDiffers."""
    arrows()
    return diagram()


def picture() -> bytes:
    """Return the picture. Raises NoGraphviz, GraphDiffers."""
    dot = shutil.which("dot")
    if dot is None:
        raise NoGraphviz
    done = subprocess.run([dot, "-Tpng", "-Gdpi=110"], input=_dot().encode(), capture_output=True, check=True)
    return _with_source(done.stdout, source())


def source_in(png: bytes) -> str:
    """Return the Mermaid source that a picture carries, "" for none."""
    texts = (data for kind, data in _chunks(png) if kind == b"tEXt" and data.startswith(_CHUNK))
    return next(texts, b"").removeprefix(_CHUNK).decode("latin-1")


def _dot() -> str:
    """Return the graph in Graphviz' language: the way to dispensing in green, that to a person in red."""
    lines = [
        'digraph refill { rankdir=TB; nodesep=0.7; ranksep=0.55; fontname="sans-serif"; labelloc=b; fontsize=11;',
        'label="Green: the way to a dispensed refill. Red: the way to a person.\\n'
        'A walk goes on at the stored state, and pauses where it waits for an answer.";',
        'node [shape=box style="rounded,filled" fontname="sans-serif" fontsize=12 penwidth=2];',
        'edge [fontname="sans-serif" fontsize=11 penwidth=2];',
        'begin [shape=circle label="" width=0.2 fillcolor=black style=filled];',
        'end [shape=doublecircle label="" width=0.15 fillcolor=black style=filled];',
    ]
    for state in State:
        colours = (
            'fillcolor="#e8f5e9" color="#2e7d32"'
            if state in _HAPPY
            else 'fillcolor="#ffebee" color="#c62828"'
        )
        lines.append(f'"{state}" [{colours}];')
    lines.append(f'begin -> "{State.COLLECT}" [{_GREEN}];')
    for before, after in arrows():
        label = " / ".join(event for event, target in TABLE[before].items() if target == after)
        style = _GREEN if after in _HAPPY else f"{_RED} style=dashed"
        lines.append(f'"{before}" -> "{after}" [{style} label=" {label}"];')
    for state in State:
        if state in END_STATES:
            lines.append(f'"{state}" -> end [{_GREEN if state in _HAPPY else _RED}];')
    start, event, target = NEW_WALK
    lines.append(
        f'"{start}" -> "{target}" [color="#1565c0" fontcolor="#0d47a1" style=dotted constraint=false'
        f' label=" {event}\\n (next walk)"];'
    )
    return "\n".join([*lines, "}"])


def _with_source(png: bytes, text: str) -> bytes:
    """Return the picture with a text chunk behind its header."""
    chunks = list(_chunks(png))
    chunks.insert(1, (b"tEXt", _CHUNK + text.encode("latin-1")))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each chunk's kind and data; nothing of what is no PNG."""
    place = len(_SIGNATURE) if png.startswith(_SIGNATURE) else len(png)
    while place + 12 <= len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        place += 12 + size
