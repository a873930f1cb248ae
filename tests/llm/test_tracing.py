"""Spans of requests hold the model, tokens and the kind of a failure, and no content."""

import json

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from scripted_model import MODEL, ScriptedModel, calls, chooses, fails
from talking import Talk

from agent.inference import tracing


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_TRACER", trace.get_tracer("test", tracer_provider=provider))
    return exporter


def test_a_request_is_a_span_without_content(model: ScriptedModel, spans: InMemorySpanExporter) -> None:
    model.script(
        calls(("get_medication_by_name", {"medication_name": "Advil"}), usage=(1000, 20)),
        chooses("{name|Ibuprofen}", usage=(1200, 30)),
        fails(401),
    )
    talk = Talk()
    talk.say("What is Advil? My name is Dana Levi.")
    talk.say("And what does aspirin contain?")
    found = [dict(span.attributes or {}) for span in spans.get_finished_spans()]
    assert [span["gen_ai.usage.input_tokens"] for span in found[:2]] == [1000, 1200]
    assert found[0]["gen_ai.request.model"] == MODEL
    assert found[2]["error.type"] == "key"
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    for word in ("Dana", "Advil", "Ibuprofen", "aspirin"):
        assert word not in told, json.dumps(found)
