"""Filters: what documents have to be for their sources to be searched, and how a line says so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, cast, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from kg_api.models.base import Body, Text
from kg_api.models.library.metadata import INT64
from kg_api.models.library.moments import LIKE_A_DAY, moment
from kg_api.models.vocabulary import SourceKind

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "contains", "exists"]
Compared = Annotated[Text, StringConstraints(max_length=1000)] | int | float | bool

MAX_CONDITIONS = 20
MAX_CHOICES = 100
MAX_ALTERNATIVES = 20
MAX_IN_ALL = 100
PAGE: Final = "page"
KIND: Final = "kind"
KNOWN_FIELDS: Final = ("document", "ontology", "title", "format", "uri", "updated_at", PAGE, KIND)
"""Fields of every document, and of its sources; all others are keys of the metadata."""
MAX_PAGE: Final = 2**31
OF_TIME: Final = ("date", "modified", "updated_at")
"""Fields that nothing is before or behind but a date."""
METADATA: Final = "metadata."
"""In front of a key that is called like one of them."""


def field_of(key: str) -> str:
    """Return the field that conditions name a metadata key by."""
    return f"{METADATA}{key}" if key in KNOWN_FIELDS or key.startswith(METADATA) else key


_WRITTEN = re.compile(
    r"\s*(?P<field>'[^']+'|[^\s=!<>]+)\s*(?P<op>!=|<=|>=|=|<|>|(?<=\s)(?:in|contains)(?=\s))\s*(?P<value>.*?)\s*",
    re.DOTALL,
)
_EXISTS = re.compile(r"\s*(?P<field>'[^']+'|[^\s=!<>]+)\s+(?P<no>does\s+not\s+exist|exists)\s*")
_QUOTED = re.compile(r"'(.*)'|\"(.*)\"", re.DOTALL)
_OR, _AND = "||", "&&"
_JOINED = re.compile(r"'[^']*'|\"[^\"]*\"|(?<=\s)(\|\||&&)(?=\s)")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


class Condition(Body):
    """What a field of a document has to be. A date is compared as a time: `2025-03` is all of that month."""

    field: Annotated[Text, StringConstraints(min_length=1, max_length=210)]
    """`document`, `ontology`, `title`, `format`, `uri`, `updated_at`, or a key of the metadata;
    `metadata.KEY` for one that is called like these. `page` and `kind` (`passage`, `image`) are fields of
    each source; a source over two pages is on both. A document fits them if one of its sources does, and
    with `!=` if none is so."""
    op: Operator = "="
    """`=`, and `in` with several values: the field is one of them, or a list that has one. `!=`: it is not,
    or is missing. `contains`: a list has the value, or a text has these characters. `exists`: with value
    true or false. Values of another type never fit."""
    value: Compared | Annotated[list[Compared], Field(min_length=1, max_length=MAX_CHOICES)]
    """True if it is missing."""

    @property
    def values(self) -> list[str | int | float | bool]:
        """What it is compared with."""
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def key(self) -> str | None:
        """The metadata's key; None: it is a field of every document."""
        if self.field in KNOWN_FIELDS:
            return None
        return self.field.removeprefix(METADATA) or self.field

    @property
    def is_of_source(self) -> bool:
        """Whether sources have the field, not their document."""
        return self.field in {PAGE, KIND}

    @property
    def is_negative(self) -> bool:
        """Whether the field must not be something."""
        return self.op == "!=" or (self.op == "exists" and self.value is False)

    @model_validator(mode="before")
    @classmethod
    def _add_value(cls, given: Any) -> Any:
        """Not by a default: clients leave out what equals a default, and 1 equals True."""
        return {"value": True, **cast("dict[str, Any]", given)} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _fits(self) -> Condition:
        if isinstance(self.value, list) and self.op != "in":
            raise ValueError(f"{self.op} takes one value; several go with op 'in'")
        if self.op == "exists" and not isinstance(self.value, bool):
            raise ValueError("exists takes true or false")
        if any(not abs(each) < INT64 for each in self.values if not isinstance(each, str)):
            raise ValueError("a number does not fit 64 bits")
        if self.is_of_source and self.op != "exists":
            _require_source_value(self)
        for each in self.values:
            if isinstance(each, str):
                _require_date(self, each)
        return self


def _require_source_value(condition: Condition) -> None:
    key = f"for a key of the metadata write {METADATA}{condition.field}"
    if condition.field == PAGE:
        for each in condition.values:
            if isinstance(each, bool) or not isinstance(each, int) or not abs(each) <= MAX_PAGE:
                raise ValueError(f"{each!r} is no page: write page=2, page>=3 or page in 2,5; {key}")
        return
    if condition.op in {"<", "<=", ">", ">="}:
        raise ValueError(f"kinds have no order: write kind=image; {key}")
    for each in condition.values:
        if each not in get_args(SourceKind):
            raise ValueError(f"{each!r} is no kind of source: write kind=passage or kind=image; {key}")


def _require_date(condition: Condition, value: str) -> None:
    """Refuse what is meant as a date and is none: compared as a text it would fit what nobody meant."""
    ordered, of_time = condition.op in {"<", "<=", ">", ">="}, condition.field in OF_TIME
    if moment(value) is not None or not (ordered or of_time):
        return
    if LIKE_A_DAY.fullmatch(value.strip()):
        raise ValueError(f"{value!r} is no day or month of the calendar")
    if ordered and of_time:
        wanted = f"write {condition.field}{condition.op}2025, 2025-03 or 2025-03-31"
        raise ValueError(f"{value[:100]!r} is no date; {wanted}")


def parse_condition(text: str) -> dict[str, Any]:
    """A condition from one line: `date>=2025-01-01`, `tags=oncall`, `format in rst,text`, `author exists`.

    What reads as true, false or a number is one; quotes make it a text.

    Raises:
        ValueError: it is none.
    """
    if found := _EXISTS.fullmatch(text):
        return {"field": _unquote(found["field"]), "op": "exists", "value": found["no"] == "exists"}
    found = _WRITTEN.fullmatch(text)
    if found is None or not found["value"]:
        raise ValueError(
            f"{text[:100]!r} is no condition; write FIELD=VALUE, or !=, <, <=, >, >=, in, contains, exists, "
            "such as 'date>=2025-01-01' or 'tags contains oncall'"
        )
    parts = found["value"].split(",") if found["op"] == "in" else [found["value"]]
    values = [read_value(part.strip()) for part in parts]
    value = values if found["op"] == "in" else values[0]
    return {"field": _unquote(found["field"]), "op": found["op"], "value": value}


def read_value(text: str) -> str | int | float | bool:
    """A value as a person writes it: true, false, a number, else a text; quotes make it a text."""
    if text in {"true", "false"}:
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if re.search("[.eE]", text) else int(text)
    return _unquote(text)


def _unquote(text: str) -> str:
    found = _QUOTED.fullmatch(text)
    return (found[1] or found[2] or "") if found else text


def parse_conditions(text: str) -> dict[str, Any]:
    """A condition, or alternatives of them, from one line: `tags=oncall || author=Ada && draft=false`.

    `&&` binds closer than `||`; both have blanks around them, and within quotes they are text.

    Raises:
        ValueError: a part of it is no condition.
    """
    groups = [[*map(parse_condition, _split(group, _AND))] for group in _split(text, _OR)]
    if len(groups) == 1 and len(groups[0]) == 1:
        return groups[0][0]
    return {"any_of": groups}


def _split(text: str, by: str) -> list[str]:
    parts, start = list[str](), 0
    for found in _JOINED.finditer(text):
        if found[0] == by:
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _read(given: Any) -> Any:
    found = _read_joined(given)
    if isinstance(given, str) and "any_of" in found:
        raise ValueError(f"{given[:100]!r} is several conditions; within any_of each stands by itself")
    return found


def _read_joined(given: Any) -> Any:
    return parse_conditions(given) if isinstance(given, str) else given


def _kind(given: Any) -> str:
    return "any_of" if isinstance(given, AnyOf) or (isinstance(given, dict) and "any_of" in given) else "one"


def _require_few(where: list[Clause]) -> list[Clause]:
    if len(conditions_of(where)) > MAX_IN_ALL:
        raise ValueError(f"has more than {MAX_IN_ALL} conditions in all")
    return where


Written = Annotated[Condition, BeforeValidator(_read, json_schema_input_type=Condition | str)]
Group = Annotated[list[Written], Field(min_length=1, max_length=MAX_CONDITIONS)]


class AnyOf(Body):
    """Alternatives, one of which holds: of it all conditions."""

    any_of: Annotated[list[Group], Field(min_length=1, max_length=MAX_ALTERNATIVES)]


Clause = Condition | AnyOf
Where = Annotated[
    list[
        Annotated[
            Annotated[Condition, Tag("one")] | Annotated[AnyOf, Tag("any_of")],
            Discriminator(_kind),
            BeforeValidator(_read_joined, json_schema_input_type=Condition | AnyOf | str),
        ]
    ],
    Field(max_length=MAX_CONDITIONS),
    AfterValidator(_require_few),
]
"""Conditions that all hold; each an object, or a line (`date>=2025-01-01`, `tags=a || author=Ada`)."""


class DocumentFilter(Body):
    """Which documents are meant."""

    where: Where = Field(default_factory=list[Clause])
    """All of these hold."""


def alternatives_of(clause: Clause) -> list[list[Condition]]:
    """Groups of conditions, one of which holds."""
    return clause.any_of if isinstance(clause, AnyOf) else [[clause]]


def conditions_of(where: Iterable[Clause]) -> list[Condition]:
    """All conditions, wherever they stand."""
    return [each for clause in where for group in alternatives_of(clause) for each in group]
