"""Settings of the OpenAPI schema, and how it describes our authentication."""

from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from agent.web.problems import MEDIA_TYPE

# Pydantic writes JSON Schema as OpenAPI 3.1 has it (null is a type there); enums stay where they are used.
SCHEMA_SETTINGS: Final[dict[str, Any]] = {
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": ["agent.web.openapi.problems_named"],
}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `Authorization: Bearer <key>`."""

    target_class = "agent.web.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer"}


def problems_named(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Give the errors of all operations the media type of problem documents."""
    for path in result["paths"].values():
        for operation in path.values():
            for status, response in operation.get("responses", {}).items():
                content = response.get("content", {})
                if status >= "400" and "application/json" in content:
                    content[MEDIA_TYPE] = content.pop("application/json")
    return result
