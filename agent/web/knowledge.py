"""The knowledge base over HTTP: a system asks a health question in a role that its key was granted."""

from typing import Annotated, Final, Literal, cast

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, Field, ValidationError, WithJsonSchema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from agent.knowledge.languages import language_for
from agent.knowledge.roles import CUSTOMER, LANGUAGE, ROLE
from agent.llm.asking import Asked, question_ask
from agent.models import ApiKey
from agent.models.knowledge import ROLE_LENGTH
from agent.tools.base import TEXT_LENGTH, Arguments, Text
from agent.tools.registry import field_errors
from agent.web.http import REFUSALS, Invalid, JsonView
from agent.web.idempotency import HEADER, PATTERN, once
from agent.web.serializers import Detail, Errors
from prescriptions.audit import audit_record

_WHERE: Final = "http:knowledge"
_ONCE: Final = OpenApiParameter(HEADER, {"type": "string", "pattern": PATTERN}, OpenApiParameter.HEADER)
# `Text` describes itself in the schema, where a further bound would not show.
Question = Annotated[
    Text,
    Field(min_length=1),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": TEXT_LENGTH, "pattern": "^[^\\u0000]*$"}),
]


class AskBody(Arguments):
    """A question. The role is `customer` unless another one that was granted to the key is named; the language is the question's."""

    question: Question
    role: Annotated[str, Field(max_length=ROLE_LENGTH, pattern=ROLE)] | None = None
    language: Annotated[str, Field(pattern=LANGUAGE)] | None = None


class KnowledgeSource(BaseModel):
    """A stored answer that was quoted: its id, the question that it answers, and where it is from."""

    id: str
    question: str
    source: str


class KnowledgeReply(BaseModel):
    """The answer: stored texts word for word, or a sentence of ours.

    `status`: answered; direct (small talk); stored (the model was overloaded: the best stored answers); nothing (none covers
    the question); unavailable (the index cannot be searched now); emergency (whom to call) and refused (a request for
    advice), both without looking anything up. `path` has the flow's nodes in their order.
    """

    answer: str
    status: Literal["answered", "direct", "stored", "nothing", "unavailable", "emergency", "refused"]
    sources: list[KnowledgeSource]
    suggestions: list[str]
    topic: str
    subtopic: str
    path: list[str]


class KnowledgeAskView(JsonView):
    """Answers a question."""

    @extend_schema(
        operation_id="knowledge_ask",
        description=(
            "Ask the knowledge base. `customer` is every key's; other roles are granted when a key is issued. (Scope: `tools`.)"
        ),
        parameters=[_ONCE],
        request=AskBody,
        responses={
            200: KnowledgeReply,
            400: Errors,
            413: Detail,
            415: Detail,
            422: Detail,
            503: Detail,
            **REFUSALS,
        },
        tags=["knowledge"],
    )
    def post(self, request: Request) -> Response:
        """Ask a question."""
        try:
            body = AskBody.model_validate(request.data)
        except ValidationError as error:
            raise Invalid(field_errors(error)) from None
        key = cast("ApiKey", request.auth)
        role = body.role or CUSTOMER
        if role != CUSTOMER and role not in key.roles:
            raise PermissionDenied("The key was not granted this role.")

        def answered() -> Response:
            return _answered(str(request.user), body, role)

        response = once(request, key, answered) if HEADER in request.headers else answered()
        response["Cache-Control"] = "no-store"
        return response


def _answered(who: str, body: AskBody, role: str) -> Response:
    language = body.language or language_for(body.question, role)
    asked = question_ask(body.question, role=role, language=language)
    detail = {"role": role, "language": language, "status": asked.status.value}
    audit_record(who=who, what="knowledge_asked", where=_WHERE, detail=detail)
    return Response(knowledge_reply(asked).model_dump())


def knowledge_reply(asked: Asked) -> KnowledgeReply:
    """Return the outcome of a question as it goes over HTTP."""
    answer = asked.answer
    return KnowledgeReply(
        answer=asked.text,
        status=asked.status.value,
        sources=[
            KnowledgeSource(id=quote.entry_id, question=quote.question, source=quote.source)
            for quote in answer.quotes
        ],
        suggestions=list(answer.suggestions),
        topic=answer.topic,
        subtopic=answer.subtopic,
        path=list(answer.path),
    )
