import json
from collections import defaultdict
from typing import Any, cast

from kg_api.mcp.tools import TOOLS
from tests.support.routes import build_openapi
from tests.support.stored import compare_with_stored

LIMITS = (
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "default"),
)


class Limits(defaultdict[str, dict[str, None]]):
    """The limits of fields, by their paths."""

    def __init__(self) -> None:
        super().__init__(dict)

    def add(self, path: str, schema: object) -> None:
        """Add the limits of a JSON schema and of its parts."""
        if isinstance(schema, list):
            for each in cast("list[object]", schema):
                self.add(path, each)
        elif isinstance(schema, dict):
            known = cast("dict[str, Any]", schema)
            for name in LIMITS:
                if known.get(name) is not None:
                    self[path][f"{name} {json.dumps(known[name])}"] = None
            for name, field in known.get("properties", {}).items():
                self.add(f"{path}.{name}", field)
            for name in ("anyOf", "oneOf", "items", "additionalProperties"):
                self.add(path, known.get(name))


def test_defaults_and_limits_are_those_stored() -> None:
    limits = Limits()
    described = build_openapi()
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            for each in about.get("parameters", ()):
                limits.add(f"{method.upper()} {path} {each['name']}", each["schema"])
    for name, schema in described["components"]["schemas"].items():
        if schema.get("additionalProperties") is False:  # a request
            limits.add(name, schema)
    for name, tool in TOOLS.items():
        limits.add(f"MCP {name}", tool.arguments.model_json_schema())
    compare_with_stored("limits.txt", [f"{path}: {', '.join(each)}" for path, each in limits.items()])


def test_nested_objects_accept_only_known_fields() -> None:
    described = build_openapi()
    seen: set[str] = set()
    loose: set[str] = set()

    def look(schema: Any) -> None:
        if isinstance(schema, list):
            for each in cast("list[object]", schema):
                look(each)
        if not isinstance(schema, dict):
            return
        known = cast("dict[str, Any]", schema)
        name = str(known.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            found = described["components"]["schemas"][name]
            if "properties" in found and found.get("additionalProperties") is not False:
                loose.add(name)
            look(found)
        for value in known.values():
            look(value)

    for methods in described["paths"].values():
        for about in methods.values():
            look(about.get("requestBody", {}))
    assert len(seen) > 10
    assert loose == set()
