"""Settings of the OpenAPI schema, and how it describes our authentication."""

from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension

# Pydantic writes JSON Schema as OpenAPI 3.1 has it (null is a type there); enums stay where they are used.
SCHEMA_SETTINGS: Final[dict[str, Any]] = {"OAS_VERSION": "3.1.1", "POSTPROCESSING_HOOKS": []}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `Authorization: Bearer <key>`."""

    target_class = "agent.web.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer"}
