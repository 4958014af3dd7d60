"""Filters, facets, and fields that several requests share."""

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

from kg_api.schemas.base import VISIBLE, Answer, Body, Called, Flag, OntologyName, Text
from kg_api.schemas.documents import Deleted, DocumentSummary
from kg_api.schemas.metadata import INT64, LIKE_A_DAY, parse_moment
from kg_api.schemas.vocabulary import (
    MAX_CURSOR_CHARACTERS,
    MAX_FACET_VALUES,
    MAX_FACETS,
    MAX_HYPOTHETICAL,
    MAX_LIMIT,
    MAX_NAMES,
    MAX_QUERY_CHARACTERS,
    MAX_TOKEN_BUDGET,
    MAX_WINDOW,
    SourceKind,
)

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Similarity = Annotated[Number, Field(ge=-1, le=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
Limit = Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)]
Window = Annotated[int, Field(strict=True, ge=0, le=MAX_WINDOW)]
QueryText = Annotated[Text, StringConstraints(max_length=MAX_QUERY_CHARACTERS), *VISIBLE]
HitsCursor = Annotated[str, Field(min_length=1, max_length=MAX_CURSOR_CHARACTERS)]
TokenBudget = Annotated[int, Field(strict=True, ge=1, le=MAX_TOKEN_BUDGET)]
Hypothetical = Annotated[int, Field(strict=True, ge=0, le=MAX_HYPOTHETICAL)] | Literal["auto"]
Ontologies = OntologyName | Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_NAMES)]
Kinds = Annotated[list[SourceKind], Field(min_length=1, max_length=2)]
DocumentNames = Annotated[list[Called], Field(min_length=1, max_length=MAX_NAMES)]
"""Documents: name, `ONTOLOGY/NAME`, id, or at least eight digits of an id."""


# Filters of documents and sources

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "contains", "exists"]
Compared = Annotated[Text, StringConstraints(max_length=1000)] | int | float | bool

MAX_CONDITIONS = 20
MAX_CHOICES = 100
MAX_ALTERNATIVES = 20
MAX_IN_ALL = 100
PAGE: Final = "page"
KIND: Final = "kind"
TEXT_FIELDS: Final = ("document", "ontology", "title", "format", "uri")
KNOWN_FIELDS: Final = (*TEXT_FIELDS, "updated_at", PAGE, KIND)
"""Fields of every document and source. All other fields are metadata keys."""
MAX_PAGE: Final = 2**31
OF_TIME: Final = ("date", "modified", "updated_at")  # fields that only a date can be compared with
METADATA: Final = "metadata."  # prefix of a metadata key with the name of a known field


def format_metadata_field(key: str) -> str:
    return f"{METADATA}{key}" if key in KNOWN_FIELDS or key.startswith(METADATA) else key


def get_metadata_key(field: str) -> str | None:
    return None if field in KNOWN_FIELDS else field.removeprefix(METADATA) or field


_WRITTEN = re.compile(
    r"\s*(?P<field>'[^']+'|[^\s=!<>]+)\s*(?P<op>!=|<=|>=|=|<|>|(?<=\s)(?:in|contains)(?=\s))\s*(?P<value>.*?)\s*",
    re.DOTALL,
)
_EXISTS = re.compile(r"\s*(?P<field>'[^']+'|[^\s=!<>]+)\s+(?P<no>does\s+not\s+exist|exists)\s*")
_QUOTED = re.compile(r"'(.*)'|\"(.*)\"", re.DOTALL)
_LISTED = re.compile(r"\s*('[^']*'|\"[^\"]*\"|[^,]*)\s*,")
_OR, _AND = "||", "&&"
_JOINED = re.compile(r"'[^']*'|\"[^\"]*\"|(?<=\s)(\|\||&&)(?=\s)")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


class Condition(Body):
    """Condition on a field of a document. Dates are compared as time spans: `2025-03` is the whole month."""

    field: Annotated[Text, StringConstraints(min_length=1, max_length=210)]
    """`document`, `ontology`, `title`, `format`, `uri`, `updated_at`, or a metadata key. Write `metadata.KEY`
    for a key with one of these names. `page` and `kind` (`passage`, `image`) are fields of sources. A source
    on two pages has both. A document matches if one of its sources matches, and with `!=` if none has the
    value."""
    op: Operator = "="
    """`=`, or `in` for several values: the field has the value, or its list contains it. `!=`: the field is
    different or missing. `contains`: a list contains the value, or a text the characters. `exists`: with
    value true or false. Values of another type never match."""
    value: Compared | Annotated[list[Compared], Field(min_length=1, max_length=MAX_CHOICES)]
    """Value, or several values for `in`. Default: true."""

    @property
    def values(self) -> list[str | int | float | bool]:
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def key(self) -> str | None:
        return get_metadata_key(self.field)

    @property
    def is_of_source(self) -> bool:
        return self.field in {PAGE, KIND}

    @property
    def is_negative(self) -> bool:
        return self.op == "!=" or (self.op == "exists" and self.value is False)

    @model_validator(mode="before")
    @classmethod
    def _add_value(cls, given: Any) -> Any:
        """Add the default. A field default fails: clients omit values equal to it, and 1 equals True."""
        return {"value": True, **cast("dict[str, Any]", given)} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _fits(self) -> Condition:
        if isinstance(self.value, list) and self.op != "in":
            raise ValueError(f"{self.op} takes one value. For several values, use op 'in'")
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
    key = f"{METADATA}{condition.field} for a metadata key"
    if condition.field == PAGE:
        for each in condition.values:
            if isinstance(each, bool) or not isinstance(each, int) or not abs(each) <= MAX_PAGE:
                raise ValueError(f"{each!r} is not a page. Write page=2, page>=3, or page in 2,5, or {key}")
        return
    if condition.op in {"<", "<=", ">", ">="}:
        raise ValueError(f"kinds have no order. Write kind=image, or {key}")
    for each in condition.values:
        if each not in get_args(SourceKind):
            raise ValueError(f"{each!r} is not a kind of source. Write kind=passage or kind=image, or {key}")


def _require_date(condition: Condition, value: str) -> None:
    """Raise ValueError for an invalid date. A comparison as text would match unintended documents."""
    ordered, of_time = condition.op in {"<", "<=", ">", ">="}, condition.field in OF_TIME
    if parse_moment(value) is not None or not (ordered or of_time):
        return
    if LIKE_A_DAY.fullmatch(value.strip()):
        raise ValueError(f"{value!r} is not a calendar day or month")
    if ordered and of_time:
        wanted = f"Write {condition.field}{condition.op}2025, 2025-03 or 2025-03-31"
        raise ValueError(f"{value[:100]!r} is not a date. {wanted}")


def parse_condition(text: str) -> dict[str, Any]:
    """Parse a condition such as `date>=2025-01-01` or `author exists`. Quotes keep a number or a comma."""
    if found := _EXISTS.fullmatch(text):
        return {"field": _unquote(found["field"]), "op": "exists", "value": found["no"] == "exists"}
    found = _WRITTEN.fullmatch(text)
    if found is None or not found["value"]:
        raise ValueError(
            f"{text[:100]!r} is not a condition. Write FIELD=VALUE, or !=, <, <=, >, >=, in, "
            "contains, exists, such as 'date>=2025-01-01' or 'tags contains oncall'"
        )
    field, op = _unquote(found["field"]), found["op"]
    parts = _LISTED.findall(f"{found['value']},") if op == "in" else [found["value"]]
    values = [_read_compared(field, op, part.strip()) for part in parts]
    return {"field": field, "op": op, "value": values if op == "in" else values[0]}


def _read_compared(field: str, op: str, text: str) -> str | int | float | bool:
    """Read the value of a condition. A field of texts is compared with the characters, such as title=2024."""
    value = read_value(text)
    changed = not isinstance(value, str | bool) and str(value) != text  # such as 007
    return _unquote(text) if field in TEXT_FIELDS or (op == "contains" and changed) else value


def read_value(text: str) -> str | int | float | bool:
    """Read the value of a text: true, false, a number, or a text. Quotes keep a text."""
    if text in {"true", "false"}:
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if re.search("[.eE]", text) else int(text)
    return _unquote(text)


def _unquote(text: str) -> str:
    found = _QUOTED.fullmatch(text)
    return (found[1] or found[2] or "") if found else text


def parse_conditions(text: str) -> dict[str, Any]:
    """Return a condition, or the alternatives of one line: `tags=oncall || author=Ada && draft=false`.

    `&&` has a higher precedence than `||`. Both need surrounding spaces. Quotes escape them.
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
        raise ValueError(f"{given[:100]!r} contains several conditions. Each entry of any_of takes one")
    return found


def _read_joined(given: Any) -> Any:
    return parse_conditions(given) if isinstance(given, str) else given


def _get_kind(given: Any) -> str:
    return "any_of" if isinstance(given, AnyOf) or (isinstance(given, dict) and "any_of" in given) else "one"


def _require_few(where: list[Clause]) -> list[Clause]:
    if len(list_conditions(where)) > MAX_IN_ALL:
        raise ValueError(f"has more than {MAX_IN_ALL} conditions in all")
    return where


Written = Annotated[Condition, BeforeValidator(_read, json_schema_input_type=Condition | str)]
Group = Annotated[list[Written], Field(min_length=1, max_length=MAX_CONDITIONS)]


class AnyOf(Body):
    """Alternative groups of conditions. All conditions of one group must hold."""

    any_of: Annotated[list[Group], Field(min_length=1, max_length=MAX_ALTERNATIVES)]


Clause = Condition | AnyOf
Where = Annotated[
    list[
        Annotated[
            Annotated[Condition, Tag("one")] | Annotated[AnyOf, Tag("any_of")],
            Discriminator(_get_kind),
            BeforeValidator(_read_joined, json_schema_input_type=Condition | AnyOf | str),
        ]
    ],
    Field(max_length=MAX_CONDITIONS),
    AfterValidator(_require_few),
]
"""Conditions that must all hold: objects or lines such as `date>=2025-01-01` or `tags=a || author=Ada`."""


class Scoped(Body):
    ontology: Ontologies | None = None
    """Names of ontologies. Default: all."""

    @property
    def ontologies(self) -> list[str] | None:
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class Filtered(Scoped):
    where: Where | None = None
    """Filters that a document must match, such as `date>=2025-01-01` or `tags=oncall`."""


class Narrowed(Filtered):
    documents: DocumentNames | None = None
    """Documents to use: name, `ONTOLOGY/NAME`, or id. Default: all."""


class DocumentFilter(Body):
    where: Where = Field(default_factory=list[Clause])


def list_alternatives(clause: Clause) -> list[list[Condition]]:
    return clause.any_of if isinstance(clause, AnyOf) else [[clause]]


def list_conditions(where: Iterable[Clause]) -> list[Condition]:
    return [each for clause in where for group in list_alternatives(clause) for each in group]


# Facets

Interval = Literal["year", "month", "day"]
INTERVALS: Final = ("year", "month", "day")
POINT_IN_TIME: Final = "updated_at"


class Facet(Body):
    """Field whose values are counted."""

    field: Annotated[Text, StringConstraints(min_length=1, max_length=210)]
    """Metadata key, such as `author`, `language`, or `tags`, or `ontology`, `format`, `title`, `uri`,
    `document`, `updated_at`, or `kind` (documents with passages and with images). Write `metadata.KEY` for a
    key with one of these names."""
    by: Interval | None = None
    """Unit to group dates by: `year`, `month`, or `day` (UTC). Default: no groups."""

    @property
    def key(self) -> str | None:
        return get_metadata_key(self.field)

    @model_validator(mode="after")
    def _fits(self) -> Facet:
        if self.field == PAGE:
            raise ValueError(f"pages cannot be counted. For a metadata key, write {METADATA}{PAGE}")
        if self.field == POINT_IN_TIME and self.by is None:
            raise ValueError(f"{POINT_IN_TIME} is counted by year, month or day: {POINT_IN_TIME}:month")
        if self.key is None and self.field != POINT_IN_TIME and self.by is not None:
            raise ValueError(f"{self.field} is not a date, so it cannot be counted by {self.by}")
        return self


def parse_facet(text: str) -> dict[str, Any]:
    field, _, by = text.rpartition(":")
    return {"field": field, "by": by} if field and by in INTERVALS else {"field": text}


def _read_facets(given: Any) -> Any:
    return parse_facet(given) if isinstance(given, str) else given


class FacetRequest(Filtered):
    fields: Annotated[
        list[Annotated[Facet, BeforeValidator(_read_facets, json_schema_input_type=Facet | str)]],
        Field(min_length=1, max_length=MAX_FACETS),
    ]
    """Fields as objects or lines: `author`, `date:year`."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_FACET_VALUES)] = 20
    """Maximum number of values per field, most frequent first."""


class FacetValue(Answer):
    """Value and its number of documents. Long texts are compared by their first 1,000 characters."""

    value: str | int | float | bool
    """Value for a filter: `FIELD=VALUE` finds these documents."""
    documents: int


class FacetCounts(Answer):
    field: str
    by: Interval | None
    values: list[FacetValue]
    """Values, most frequent first. Each item of a list counts, so the sum can exceed `documents`."""
    left_out: int
    having: int
    """Number of documents with at least one value. With `by`, with at least one date."""
    missing: int


class Facets(Answer):
    """Number of documents for each value of some fields."""

    documents: int
    facets: list[FacetCounts]
    notes: list[str] = Field(default_factory=list[str])


# Deletion by filter

MAX_SHOWN = 10


class DocumentDeletion(Scoped):
    where: Annotated[Where, Field(min_length=1)]
    """Filters that a document must match. To delete all documents, delete the ontology."""
    dry_run: Flag = True
    expected_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    """`digest` from a dry run. If other documents match, kg returns 409. If none is left, the request
    succeeds."""


class DeletedMatching(Deleted, Answer):
    """Deleted documents, or with `dry_run` the documents to delete."""

    dry_run: bool
    first: list[DocumentSummary]
    digest: str | None = None
    """With `dry_run`: value for `expected_digest`."""
