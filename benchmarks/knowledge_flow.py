"""The whole knowledge flow, by rules and with a language model that answers at once, against bare retrieval."""

import gc
import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks.databases import Databases
from benchmarks.knowledge_retrieval import entries, misread, published
from benchmarks.measure import SEED, percentile, ratio
from benchmarks.model_loops import KEY, MODEL
from benchmarks.model_turn import model_served

TITLE = "The knowledge flow: a question to an answer with its sources"
NOTES = (
    "Baselines, in the same run and asked in turns with ours: retrieve_both_ways on the same questions (× retrieval), and, with a",
    "model, the same requests one after another through the bare openai SDK, streamed (× bare requests). One scripted server in a",
    "process of its own answers everybody at once. 3,237 entries; questions with one word left out and one mistyped.",
    "Right is the share whose first quotation is the entry that was asked for.",
)
ENTRIES = 3_237
QUESTIONS = 200
_SUBTOPICS = 5
_WARM = 10
_ROLE = "benchflow"


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for the flow by rules, and one with the model."""
    with ExitStack() as open:
        base_url = f"http://127.0.0.1:{open.enter_context(model_served('benchmarks.knowledge_server'))}/v1"
        os.environ.update(OPENAI_BASE_URL=base_url, OPENAI_API_KEY=KEY, OPENAI_MODEL=MODEL)
        import django

        django.setup()
        from django.conf import settings

        settings.OPENAI_EMBEDDING_MODEL = ""
        texts = entries(ENTRIES)
        published(texts, _ROLE, _SUBTOPICS)
        return [row(own.vendor, texts, has_model=has_model) for has_model in (False, True)]


def row(vendor: str, texts: list[str], *, has_model: bool, count: int = QUESTIONS) -> dict[str, Any]:
    """Measure one way of asking, in turns with its baselines."""
    from agent.knowledge.retrieval import retrieve_both_ways

    prompts: list[list[dict[str, str]]] = []
    bare = bare_requests(prompts) if has_model else None
    chance = random.Random(SEED)
    ours: list[float] = []
    retrieval: list[float] = []
    requests: list[float] = []
    right = 0
    gc.collect()
    for number, key in enumerate(chance.choices(range(len(texts)), k=count + _WARM)):
        text = misread(texts[key], chance)
        prompts.clear()
        spent, answer = timed(lambda text=text: ask(text, prompts if has_model else None))
        alone, _ = timed(lambda text=text: retrieve_both_ways(text, "", "", _ROLE, language="en"))
        without = timed(bare)[0] if bare else 0.0
        if number < _WARM:
            continue
        ours.append(spent)
        retrieval.append(alone)
        requests.append(without)
        right += bool(answer.quotes) and answer.quotes[0].entry_id == str(key)
    return {
        "database": vendor,
        "what": "with a model at once" if has_model else "by rules",
        "requests": len(prompts),
        "p50 ms": 1_000 * median(ours),
        "p99 ms": 1_000 * percentile(ours, 0.99),
        "× retrieval": ratio(ours, retrieval),
        "retrieval p50 ms": 1_000 * median(retrieval),
        "× bare requests": ratio(ours, requests) if bare else None,
        "bare requests p50 ms": 1_000 * median(requests) if bare else None,
        "right": right / count,
    }


def ask(text: str, prompts: list[list[dict[str, str]]] | None) -> Any:
    """Ask the flow; with a list, by the model, whose messages are put into it."""
    from agent.knowledge.flow.ask import knowledge_ask
    from agent.knowledge.flow.prompts import SYSTEM
    from agent.llm.knowledge import knowledge_model

    if prompts is None:
        return knowledge_ask(text, role=_ROLE, language="en")
    with knowledge_model(purpose="") as model:
        assert model is not None
        plain = model.ask

        def heard(prompt: str, **named: Any) -> str:
            prompts.append([{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}])
            return plain(prompt, **named)

        model.ask = heard  # type: ignore[method-assign]
        return knowledge_ask(text, role=_ROLE, language="en", model=model)


def bare_requests(prompts: list[list[dict[str, str]]]) -> Callable[[], None]:
    """Return what sends the same messages again, with the SDK alone and one client for all."""
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=os.environ["OPENAI_BASE_URL"], max_retries=0)

    def send() -> None:
        for messages in prompts:
            stream: Any = client.chat.completions.create(
                model=MODEL,
                messages=messages,
                stream=True,
                stream_options={"include_usage": True},  # type: ignore[arg-type]
            )
            "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

    return send


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that something takes, and what it returns."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result
