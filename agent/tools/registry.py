"""Call a tool: check the arguments and the caller, run it, word the outcome and measure the time.

Every caller goes through `call_tool`: the loop with any model, and HTTP.

To add a tool: write its file beside this one, add a row to `TOOLS`, run `manage.py write_contracts`, add its cases to
`tests/contracts`.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from agent.answers.tool_sentences import tool_text
from agent.evidence import Evidence
from agent.models import ToolCall
from agent.safety.disclosure import without_directions
from agent.tools import (
    check_inventory,
    check_prescription_requirement,
    check_stock,
    get_medication_by_name,
    get_medication_info,
    interaction_check,
    inventory_check,
    inventory_find_equivalent,
    prescription_management,
    prescription_verify,
)
from agent.tools.base import (
    Answer,
    Arguments,
    InvalidArguments,
    NotAuthorised,
    Refusal,
    Tool,
    ToolContext,
    ToolOutcome,
    UnknownTool,
    capped,
    redact,
)
from agent.tools.envelopes import ENVELOPES, code_of, failure, success
from agent.tools.private import denied_record
from pharmacy_site.lib.errors import PharmacyError, trace_of
from pharmacy_site.lib.savepoint import savepoint

logger = logging.getLogger(__name__)

TOOLS: Final[tuple[Tool, ...]] = (
    get_medication_by_name.TOOL,
    check_inventory.TOOL,
    prescription_management.TOOL,
    inventory_check.TOOL,
    inventory_find_equivalent.TOOL,
    prescription_verify.TOOL,
    interaction_check.TOOL,
    get_medication_info.TOOL,
    check_prescription_requirement.TOOL,
    check_stock.TOOL,
)
_BY_NAME: Final[Mapping[str, Tool]] = {tool.name: tool for tool in TOOLS}


def tool_get(name: str) -> Tool:
    """Return the tool of this name, or raise UnknownTool."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise UnknownTool from None


def call_tool(name: str, arguments: object, context: ToolContext) -> ToolOutcome:
    """Run one tool for this caller and return the contract's output with its evidence.

    Raises UnknownTool, InvalidArguments (before anything is read) and NotAuthorised (HTTP without the scope). Every other
    error, also a broken database, is returned as a failure.
    """
    started = time.perf_counter()
    tool = tool_get(name)
    if context.channel == "http" and tool.scope not in context.scopes:
        denied_record(tool, context, why="scope")
        raise NotAuthorised
    try:
        parsed = arguments_parse(tool, arguments)
    except InvalidArguments:
        if tool.private and context.channel == "chat":
            # A model that tries ids no schema allows is as worth knowing as one that tries allowed ones.
            denied_record(tool, context, why="arguments")
        raise
    ok, code, result, evidence = _outcome(tool, parsed, context)
    return ToolOutcome(
        name=name,
        ok=ok,
        result=capped(result),
        code=code,
        evidence=capped(evidence),
        duration_ms=round((time.perf_counter() - started) * 1000),
        arguments_redacted=redact(parsed.model_dump(exclude_unset=True)),
    )


def arguments_parse(tool: Tool, arguments: object) -> Arguments:
    """Return the arguments as this tool's model, or raise InvalidArguments with each field that breaks the schema."""
    if not isinstance(arguments, Mapping):
        raise InvalidArguments([{"field": "", "message": "Input should be an object"}])
    try:
        return tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise InvalidArguments(field_errors(error)) from None


def field_errors(error: ValidationError) -> list[dict[str, str]]:
    """Return pydantic's complaints by field, without the values that were sent."""
    messages: dict[str, list[str]] = {}
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        place = [part for position, part in enumerate(found["loc"]) if position == 0 or isinstance(part, int)]
        name = ".".join(str(part) for part in place)[:100].encode("utf-8", "replace").decode()
        messages.setdefault(name, []).append(found["msg"].removeprefix("Value error, "))
    return [{"field": name, "message": "; or: ".join(dict.fromkeys(said))} for name, said in messages.items()]


def toolcall_row(outcome: ToolOutcome, context: ToolContext) -> ToolCall:
    """Return the unsaved row that records this call; the caller saves it in its own transaction."""
    return ToolCall(
        run_id=context.run_id,
        api_key=context.api_key,
        actor=context.actor,
        name=outcome.name,
        arguments=outcome.arguments_redacted,
        ok=outcome.ok,
        code=outcome.code or "",
        evidence=without_directions(outcome.evidence),
        duration_ms=outcome.duration_ms,
    )


def _outcome(
    tool: Tool, parsed: Arguments, context: ToolContext
) -> tuple[bool, str | None, dict[str, Any], Evidence]:
    try:
        with savepoint():
            answered = _run(tool, parsed, context)
        if isinstance(answered, Answer):
            return True, None, success(answered.result), answered.evidence
        code, refusal = answered
        return False, code, failure(tool, code, refusal), refusal.evidence
    except Exception as error:
        # The exception's text may hold what the customer wrote, so only its type and the lines it passed are logged.
        logger.error("tool %s failed: %s at %s", tool.name, type(error).__name__, trace_of(error))
        code = ENVELOPES[tool.family].unexpected
        message = tool_text("unexpected", getattr(parsed, "language", "en") if tool.family == "S1" else "en")
        return False, code, failure(tool, code, Refusal(message if tool.family != "S2" else "")), {}


def _run(tool: Tool, parsed: Arguments, context: ToolContext) -> Answer | tuple[str, Refusal]:
    try:
        return tool.run(parsed, context)
    except PharmacyError as error:
        code = code_of(tool, error)
        if code is None:
            raise
        # Here and not outside: the refusal's own audit rows must outlive it.
        return code, tool.refuse(error, parsed, context)
