"""Definition of a tool, lenient parsing of its arguments, and messages for agents, who have no shell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from kg_api.mcp.answers import InlineImage, Item, Paged, Pager
from kg_api.schemas.problems import validate
from kg_api.schemas.search import Degradation

if TYPE_CHECKING:
    from kg_api.mcp.library import Library

# tool that replaces a command
_TOOLS = {
    "documents": "list_documents",
    "ontologies": "list_ontologies",
    "search": "search_sources",
    "similar": "find_similar_sources",
    "concepts search": "hybrid_search",
    "concepts list": "hybrid_search",
    "images list": "search_images",
    "images search": "search_images",
}
_COMMAND = re.compile(r"`kg ([^`]*)`")
_FOR_PEOPLE = " (You have no shell: the user runs `kg` commands.)"
# REST fields with another name as tool arguments. An unknown argument keeps the name that the agent sent.
_ARGUMENTS = (
    (re.compile(r"\bquery_text\b(?!: unknown field)"), "query"),
    (re.compile(r"\bontology(?=\.\d)"), "ontologies"),
)


def rephrase_for_agents(message: str) -> str:
    """Replace commands and fields by tools and arguments. Note that the user runs the remaining commands."""
    for pattern, argument in _ARGUMENTS:
        message = pattern.sub(argument, message)
    message = _COMMAND.sub(_translate_command, message)
    return message + _FOR_PEOPLE if _COMMAND.search(message) else message


def _translate_command(command: re.Match[str]) -> str:
    words = command[1].split(" --")[0]
    return f"`{_TOOLS[words]}`" if words in _TOOLS else command[0]


# Lenient arguments
#
# Models and clients send lists, numbers and booleans as text, and a single name for a list of one. For an
# omitted argument they send `""`, `[]` or null. The schema that agents see stays strict.

# lower-case texts that mean an omitted argument
_NOTHING = frozenset({"", "null", "none", "undefined", "[]", "{}", '""', "''"})
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"[+-]?\d{1,18}(?:\.0+)?")


def read_arguments(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments to the types of their fields and omit empty optional arguments.

    An ambiguous value stays unchanged, and the model rejects it.
    """
    read = dict[str, Any]()
    for name, value in given.items():
        field = model.model_fields.get(name)
        if field is None:
            read[name] = value
        elif field.is_required() or not _is_nothing(value):
            read[name] = _as_declared(_strip_annotation(field.annotation), value)
    return read


def _is_nothing(value: object) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if text.casefold() in _NOTHING:
            return True
        value = _from_json(text) if text.startswith("[") else value
        if value is None:  # not JSON
            return False
    if isinstance(value, list):
        items = cast("list[object]", value)
        return all(each is None or (isinstance(each, str) and not each.strip()) for each in items)
    return value is None or value == {}


def _strip_annotation(annotation: Any) -> Any:
    """Return a type without its limits and without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _strip_annotation(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        kinds = [each for each in get_args(annotation) if each is not NoneType]
        return _strip_annotation(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def _as_declared(kind: Any, value: object) -> object:
    if get_origin(kind) is list:
        item, several = _strip_annotation(get_args(kind)[0]), _read_list(value)
        return value if several is None else [_as_declared(item, each) for each in several]
    if kind is str or get_origin(kind) is Literal:
        return _as_text(value)
    if kind is bool and isinstance(value, str | int | float):
        return _BOOLEANS.get(str(_as_text(value)).strip().casefold(), value)
    return _as_number(kind, value) if isinstance(value, str) else value


def _as_number(kind: Any, value: str) -> object:
    """Parse a number, or return the text if it is not a number of this kind."""
    text = value.strip()
    if kind is int and _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    return float(text) if kind is float and _NUMBER.fullmatch(text) else value


def _read_list(value: object) -> list[object] | None:
    """Return a list, a JSON list, or the only item of a list. None: other values, and broken JSON lists."""
    if isinstance(value, str):
        parsed = _from_json(value)
        if not isinstance(parsed, list) and re.fullmatch(r"\s*\[.*\]\s*", value, re.DOTALL):
            return None
        value = cast("str | list[object]", parsed) if isinstance(parsed, str | list) else value
    if isinstance(value, list):
        return cast("list[object]", value)
    return [value] if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _as_text(value: object) -> object:
    """Return a number or a boolean as JSON text, or the only text of a list."""
    match value:
        case float() if value.is_integer():
            return str(int(value))
        case bool() | int() | float():
            return json.dumps(value)
        case [str(only)]:
            return only
        case _:
            return value


def _from_json(text: str) -> object:
    """Parse JSON, or a list in Python syntax such as `['a']`. Return None for other text."""
    for written in (text, "" if '"' in text else text.replace("'", '"')):
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            continue
    return None


# A tool: a function with a title, a description and a model of its arguments

# the other hints concern tools that write
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# limits that agents do not reach, with a clear error message if exceeded
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")

ArgumentsT = TypeVar("ArgumentsT", bound=Paged)
Run = Callable[["Library", ArgumentsT, Pager], Item]


@dataclass(frozen=True)
class Tool(Generic[ArgumentsT]):
    """A function that agents can call."""

    name: str
    title: str
    description: str  # for the agent: result of the tool, and when to use it
    arguments: type[ArgumentsT]
    run: Run[ArgumentsT]

    def call(self, library: Library, given: Mapping[str, Any]) -> tuple[Item, list[InlineImage]]:
        arguments = validate(self.arguments, read_arguments(self.arguments, given))
        pager = Pager(self.name, arguments)
        answer = self.run(library, arguments, pager)
        for name in ("degraded", "more"):  # these come last
            if name in answer:
                answer[name] = answer.pop(name)
        return answer, pager.shown

    def describe(self) -> Described:
        """Return the tool's listing, without the schema of its answers, which took 60 % of the list."""
        return Described(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=build_schema(self.arguments),
            annotations=READS,
        )


def list_degradations(found: Sequence[Degradation]) -> list[Item]:
    """Return degradations as messages for agents."""
    items = [each.model_dump(mode="json", exclude_none=True) for each in found]
    return [{**each, "effect": rephrase_for_agents(each["effect"])} for each in items]


class _Terse(GenerateJsonSchema):
    """Generator of short schemas for agents: no titles that repeat a name, and no null for omitted fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def build_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build the JSON schema of a model. Fields with a default are optional. Unset fields are not sent."""
    schema = model.model_json_schema(schema_generator=_Terse, mode="validation")
    schema.pop("description", None)  # the tool has its own description
    schema.pop("additionalProperties", None)  # some clients fail on it, and kg rejects unknown fields
    for each in (schema, *schema.get("$defs", {}).values()):
        each.pop("title", None)
        for of_field in each.get("properties", {}).values():
            for name in LENGTHS:
                of_field.pop(name, None)
    return schema
