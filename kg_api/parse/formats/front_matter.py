"""Front matter of a Markdown file (YAML, TOML or JSON): metadata of the document, and no passage of it."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from kg_api.models.library.metadata import Metadata, MetadataValue, Scalar

_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n?|\n)(?=[\w#])((?:[^\r\n]*(?:\r\n?|\n)){1,500}?)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)((?:[^\r\n]*(?:\r\n?|\n)){0,500}?)\+\+\+[ \t]*(?:\r\n?|\n|\Z)")
_BLANK_LINE = re.compile(r"[ \t]*(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n|\Z)|\Z)|[ \t]*\Z")
_MAX_JSON = 100_000
_METADATA = TypeAdapter[dict[str, MetadataValue]](Metadata)
_NOT_KEPT = 5
"""So many names are told of those that are not kept."""
_PLAIN = (str, bool, int, float)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands at the head of a file."""

    end: int = 0
    """Where the text goes on; 0: there is none, or it is no YAML."""
    title: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    notes: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """Takes no aliases: a few lines of them become a tree of gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of a Markdown text; invalid front matter stays part of the text."""
    if text.startswith("+++"):
        return _read_toml(text)
    if text.startswith("{"):
        return _read_json(text)
    found = _FRONT_MATTER.match(text)
    if not found:
        return FrontMatter()
    try:
        said = yaml.load(found[1], _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: 2025-02-31
        return FrontMatter(notes=("its front matter is no valid YAML and was left in the text",))
    if not isinstance(said, dict):
        return FrontMatter()
    return _front_matter(found.end(), cast("dict[object, object]", said))


def _read_toml(text: str) -> FrontMatter:
    found = _TOML.match(text)
    if not found:
        return FrontMatter()
    try:
        said = tomllib.loads(found[1].replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, RecursionError):
        return FrontMatter(notes=("its front matter is no valid TOML and was left in the text",))
    return _front_matter(found.end(), cast("dict[object, object]", said))


def _read_json(text: str) -> FrontMatter:
    """Read an object in front of a blank line, as Hugo takes it; other braces are words of the text."""
    try:
        said, end = json.JSONDecoder().raw_decode(text[:_MAX_JSON])
    except (ValueError, RecursionError):
        return FrontMatter()
    blank = _BLANK_LINE.match(text, end)
    if not isinstance(said, dict) or not said or not blank:
        return FrontMatter()
    return _front_matter(blank.end(), cast("dict[object, object]", said))


def _front_matter(end: int, said: Mapping[object, object]) -> FrontMatter:
    fields = {str(key): value for key, value in said.items() if value is not None and value != []}
    title = fields.pop("title", "")
    values = {key: _value(value) for key, value in fields.items()}
    kept = {key: value for key, value in values.items() if value is not None}
    rest = [key for key in values if key not in kept]
    try:
        metadata = _METADATA.validate_python(kept)
    except ValidationError:
        metadata, rest = dict[str, MetadataValue](), [*values]
    return FrontMatter(end, str(title) if isinstance(title, _PLAIN) else "", metadata, _notes(rest))


def _value(said: object) -> MetadataValue:
    """A value, or a list of one kind of them; None for what is neither."""
    if not isinstance(said, list):
        return _scalar(said)
    values = [_scalar(each) for each in cast("list[object]", said)]
    if None in values:
        return None
    kinds = {type(each) for each in values}
    return cast("MetadataValue", values if len(kinds) == 1 else [str(each) for each in values])


def _scalar(said: object) -> Scalar | None:
    if isinstance(said, dt.date | dt.time):  # a datetime is a date
        return said.isoformat()
    return said if isinstance(said, _PLAIN) else None


def _notes(rest: list[str]) -> tuple[str, ...]:
    if not rest:
        return ()
    named = ", ".join(rest[:_NOT_KEPT])[:200]
    more = f" and {len(rest) - _NOT_KEPT} more" if len(rest) > _NOT_KEPT else ""
    return (f"of its front matter this is no metadata that can be kept: {named}{more}",)
