"""A question and a tool as the API takes them."""

from typing import Any

ASK: list[Any] = [{"role": "user", "content": "Is אקמול in stock?"}]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "check_stock",
        "description": "Where a medication is in stock.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "medication_query": {"type": "string"},
                "store_query": {"type": ["string", "null"]},
                "near": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["medication_query", "store_query", "near"],
            "additionalProperties": False,
        },
    },
}
