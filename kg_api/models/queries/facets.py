"""Facets: how many documents have each value of a field."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from kg_api.models.base import Answer, Body, Text
from kg_api.models.queries.fields import Ontologies
from kg_api.models.queries.filters import KNOWN_FIELDS, METADATA, PAGE, Where
from kg_api.models.vocabulary import MAX_FACET_VALUES, MAX_FACETS

Interval = Literal["year", "month", "day"]
INTERVALS: Final = ("year", "month", "day")
POINT_IN_TIME: Final = "updated_at"


class Facet(Body):
    """A field whose values are counted."""

    field: Annotated[Text, StringConstraints(min_length=1, max_length=210)]
    """A key of the metadata, such as `author`, `language`, `tags`; or `ontology`, `format`, `title`, `uri`,
    `document`, `updated_at`, `kind` (documents with passages and with images). `metadata.KEY` for a key that
    is called like these."""
    by: Interval | None = None
    """Count dates by `year`, `month` or `day` (UTC); unset: each value as it is."""

    @property
    def key(self) -> str | None:
        """The metadata's key; None: it is a field of every document."""
        return None if self.field in KNOWN_FIELDS else self.field.removeprefix(METADATA) or self.field

    @model_validator(mode="after")
    def _fits(self) -> Facet:
        if self.field == PAGE:
            raise ValueError(f"pages are not counted; for a key of the metadata write {METADATA}{PAGE}")
        if self.field == POINT_IN_TIME and self.by is None:
            raise ValueError(f"{POINT_IN_TIME} is counted by year, month or day: {POINT_IN_TIME}:month")
        if self.key is None and self.field != POINT_IN_TIME and self.by is not None:
            raise ValueError(f"{self.field} is no date, and cannot be counted by {self.by}")
        return self


def parse_facet(text: str) -> dict[str, Any]:
    """A facet from one line: `author`, `date:year`, `date:month`."""
    field, _, by = text.rpartition(":")
    return {"field": field, "by": by} if field and by in INTERVALS else {"field": text}


def _read(given: Any) -> Any:
    return parse_facet(given) if isinstance(given, str) else given


class FacetRequest(Body):
    """What to count, and among which documents."""

    fields: Annotated[
        list[Annotated[Facet, BeforeValidator(_read, json_schema_input_type=Facet | str)]],
        Field(min_length=1, max_length=MAX_FACETS),
    ]
    """Each as an object, or on one line: `author`, `date:year`."""
    ontology: Ontologies | None = None
    """Only documents of these; unset or null: of all."""
    where: Where | None = None
    """Only documents for which all of this holds."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_FACET_VALUES)] = 20
    """Of each field so many values, the most frequent first."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are looked into; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class FacetValue(Answer):
    """A value, and how many documents have it; of texts their first 1,000 characters are told apart."""

    value: str | int | float | bool
    """As a filter takes it: `FIELD=VALUE` finds these documents."""
    documents: int


class FacetCounts(Answer):
    """The values of a field."""

    field: str
    by: Interval | None
    values: list[FacetValue]
    """The most frequent first. A list counts for each of its values, so their sum may be more."""
    left_out: int
    """So many further values are there, which `limit` leaves out."""
    having: int
    """Documents with at least one value; with `by`, one that is a date."""
    missing: int
    """Documents without."""


class Facets(Answer):
    """How many documents have each value of some fields."""

    documents: int
    """That were looked at."""
    facets: list[FacetCounts]
    notes: list[str] = Field(default_factory=list[str])
    """That no document fits, or has a field."""
