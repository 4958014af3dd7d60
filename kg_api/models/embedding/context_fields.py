"""What of a document stands in front of its chunks when they are embedded with a context. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kg_api.models.library.metadata import MODIFIED, MetadataValue

_DATES = ("date", "published", "updated", "created")
_PEOPLE = ("author", "authors", "by")


CONTEXT_FIELDS = ("title", "heading", "date", "author")
_FIELD = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")
_PART = re.compile(r"(\[[^\[\]]*\]|\{[^{}]*\})")
_SEPARATORS = " ,;:.|/>-–—·•"


def checked_template(template: str) -> str:
    """A template of a context, if it is one.

    Raises:
        ValueError: it names no field, or one that there is not, or its brackets do not fit.
    """
    fields = _FIELD.findall(template)
    if wrong := [each for each in fields if each not in CONTEXT_FIELDS]:
        raise ValueError(f"{{{wrong[0]}}} is no field; those known are {_known()}")
    if not fields:
        raise ValueError(f"names no field; those known are {_known()}")
    rest = _OPTIONAL.sub("", _FIELD.sub("", template))
    if any(mark in rest for mark in "{}[]"):
        raise ValueError("has a bracket without its other half, or brackets in brackets")
    return template


def _known() -> str:
    return ", ".join(f"{{{each}}}" for each in CONTEXT_FIELDS)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return a line by a template, or nothing if none of its fields has a value.

    A part in square brackets needs all its fields. Signs before an empty field, such as ` > `, go with it. At
    the beginning of the line or of round brackets, the signs behind it go.
    """
    if not any(values[field] for field in _FIELD.findall(template)):
        return ""
    parts = _PART.split(template)  # texts at even places
    line = ""
    for at in range(0, len(parts), 2):
        line += parts[at]
        if at + 1 == len(parts):
            break
        inner = parts[at + 1].removeprefix("[").removesuffix("]")
        if all(values[name] for name in _FIELD.findall(inner)):
            line += _FIELD.sub(lambda found: values[found[1]], inner)
        elif inner == parts[at + 1] and not re.search(r"\w", parts[at]):
            signs, after = parts[at], parts[at + 2]
            if signs.endswith("(") and not after.startswith(")"):
                parts[at + 2] = after.lstrip(_SEPARATORS)
            else:
                line = line[: len(line) - len(signs)]
                parts[at + 2] = after.removeprefix(")") if signs.endswith("(") else after
        if not line.strip():
            parts[at + 2] = parts[at + 2].lstrip(_SEPARATORS)
    return " ".join(line.split())


def used_in_context(
    context: str, template: str | None, title: str, metadata: Mapping[str, MetadataValue]
) -> tuple[object, ...]:
    """What a context says of a document, beside its headings: when this changes, its chunks are stale."""
    if context == "llm":
        return title, {key: value for key, value in metadata.items() if key != MODIFIED}
    if context not in {"template", "late_template"}:
        return ()
    date, people = date_and_people(metadata)
    fields = set(CONTEXT_FIELDS) if template is None else set(_FIELD.findall(template))
    values = {"title": title, "date": date, "author": people}
    return tuple(value for name, value in values.items() if name in fields)


def date_and_people(metadata: Mapping[str, MetadataValue]) -> tuple[str, str]:
    """When a document was written and by whom, each empty where it is not known."""
    folded = {key.casefold(): value for key, value in metadata.items()}
    return _first(folded, _DATES), _first(folded, _PEOPLE)


def _first(folded: Mapping[str, MetadataValue], names: Iterable[str]) -> str:
    """The first that says something; what a list says, one after the other."""
    texts = (_text(folded.get(name)) for name in names)
    return next(filter(None, texts), "")


def _text(value: MetadataValue) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "" if value is None else " ".join(str(value).split())
