"""The tools over HTTP: parse the request, make one call, record it, render the result."""

from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from agent.models import ApiKey
from agent.tools.base import InvalidArguments, NotAuthorised, Tool, ToolContext
from agent.tools.registry import call_tool, toolcall_row
from agent.tools.schemas import function_definitions
from agent.web.http import REFUSALS, Invalid, JsonView, accepted_language
from agent.web.serializers import Detail, Errors, ToolList, outcome_model


class ToolsView(JsonView):
    """Lists the tools."""

    @extend_schema(operation_id="tools", responses={200: ToolList, **REFUSALS}, tags=["tools"])
    def get(self, request: Request) -> Response:
        """List the tools as OpenAI function definitions."""
        return Response({"tools": function_definitions()})


class ToolView(JsonView):
    """Calls one tool; `tool` is set by `tool_view`."""

    tool: Tool

    def call(self, request: Request) -> Response:
        """Call the tool, record the call, and return the contract's output, success or failure."""
        key = cast("ApiKey", request.auth)
        context = ToolContext(
            actor=str(request.user),
            channel="http",
            language=accepted_language(request),
            api_key=key,
            scopes=frozenset(key.scopes),
        )
        try:
            outcome = call_tool(self.tool.name, request.data, context)
        except InvalidArguments as error:
            raise Invalid(error.errors) from None
        except NotAuthorised:
            raise PermissionDenied("The key lacks the scope for this.") from None
        toolcall_row(outcome, context).save(force_insert=True)
        response = Response(outcome.result)
        if self.tool.private:
            response["Cache-Control"] = "no-store"
        return response


def tool_view(tool: Tool) -> Any:
    """Return the view of one tool, with its own entry in the OpenAPI schema."""

    @extend_schema(
        operation_id=tool.name,
        summary=tool.name,
        description=f"{tool.description} (Scope: `{tool.scope}`.)",
        request=tool.arguments,
        responses={200: outcome_model(tool), 400: Errors, 413: Detail, 415: Detail, **REFUSALS},
        tags=["tools"],
    )
    def post(self: ToolView, request: Request) -> Response:
        return self.call(request)

    view: Any = type(f"{tool.name}_view", (ToolView,), {"tool": tool, "scope": tool.scope, "post": post})
    return view.as_view()


class NoToolView(JsonView):
    """Answers for a tool that does not exist."""

    @extend_schema(exclude=True)
    def post(self, request: Request, name: str) -> Response:
        """Answer 404."""
        raise NotFound("There is no such tool.")

    get = post
