"""What a tool is. A new one is a file in `tools/` that makes a `Tool`, and a line in `catalogue.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from kg_api.mcp.answers import ToolAnswer
from kg_api.mcp.lenient import read_arguments
from kg_api.mcp.library import Library
from kg_api.mcp.paging import Paged
from kg_api.models.problems import valid

ArgumentsT = TypeVar("ArgumentsT", bound=Paged)

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""The other hints say something of tools that write."""
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
"""Bounds that no agent comes near to; what is over them is refused with a message that says so."""


@dataclass(frozen=True)
class Tool(Generic[ArgumentsT]):
    """Something that an agent can ask for."""

    name: str
    title: str
    description: str
    """For the agent: what it gives, and when to use it."""
    arguments: type[ArgumentsT]
    answer: type[ToolAnswer]
    run: Callable[[Library, ArgumentsT], ToolAnswer]
    annotations: ToolAnnotations = field(default_factory=lambda: READS)

    def call(self, library: Library, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Run it.

        Raises:
            InvalidInput: the arguments are not those of the input schema.
            KgError: what went wrong in kg.
        """
        return self.run(library, valid(self.arguments, read_arguments(self.arguments, arguments)))

    def described(self) -> Described:
        """As the protocol lists it, without the schema of its answers: they were three fifths of the list."""
        return Described(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            annotations=self.annotations,
        )


class _Terse(GenerateJsonSchema):
    """For agents, who read all schemas: no title that says a field's name again, and no null for "unset"."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema; fields with a default may be missing, for what is unset is not sent."""
    schema = model.model_json_schema(schema_generator=_Terse, mode="validation")
    schema.pop("description", None)  # the tool's own says what it is for
    schema.pop("additionalProperties", None)  # a client fails on it; kg rejects unknown ones
    for each in (schema, *schema.get("$defs", {}).values()):
        each.pop("title", None)
        for of_field in each.get("properties", {}).values():
            for name in LENGTHS:
                of_field.pop(name, None)
    return schema
