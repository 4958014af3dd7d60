"""Concepts that a file or a person brings, with where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self, cast

from pydantic import Field, StringConstraints, model_validator

from kg_api.models.base import VISIBLE, Answer, Body, DocumentName, NodeId, Text

MAX_ROWS = 500
MAX_CONCEPTS = 1000
MAX_QUOTES = 20
MAX_PROBLEMS = 200
"""That one answer names."""

Label = Annotated[Text, StringConstraints(min_length=1, max_length=200), *VISIBLE]
Passage = Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]


class ConceptGiven(Body):
    """A concept, and what proves it."""

    label: Label
    description: Annotated[Text, StringConstraints(max_length=1000)] = ""
    search_terms: Annotated[list[Label], Field(max_length=20)] = Field(default_factory=list)
    """Other names for it."""
    quotes: Annotated[list[Passage], Field(max_length=MAX_QUOTES)] = Field(default_factory=list)
    """Passages of the text that say it; with none of them the label itself is looked for."""


Statement = tuple[Label, Annotated[Text, StringConstraints(min_length=1, max_length=1000)], Label]
"""Subject, type and object."""


class ConceptRow(Body):
    """What is known of a document, or of one of its paragraphs."""

    document: DocumentName | None = None
    """Its name, or else its title."""
    title: DocumentName | None = None
    """Found by it where no document has the name."""
    paragraph: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    """Only this source of the document, counted from 0; unset: those in which a concept stands."""
    source_id: NodeId | None = None
    """Instead of a document: the source itself."""
    concepts: Annotated[list[ConceptGiven], Field(max_length=MAX_CONCEPTS)] = Field(default_factory=list)
    relations: Annotated[list[Statement], Field(max_length=MAX_CONCEPTS)] = Field(default_factory=list)
    """What they relate becomes a concept too."""

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        named = self.document is not None or self.title is not None
        if named == (self.source_id is not None):
            raise ValueError("name a document (document or title) or a source (source_id)")
        if self.source_id is not None and self.paragraph is not None:
            raise ValueError("a paragraph is one of a document: omit it with source_id")
        return self


class ConceptImport(Body):
    """Concepts for an ontology whose documents are stored already."""

    rows: Annotated[list[ConceptRow], Field(min_length=1, max_length=MAX_ROWS)]
    """All of one document in one request: what was imported for it before is replaced."""


class ImportProblem(Answer):
    """Something that has no place."""

    row: int
    """Its place in the request, from 0."""
    place: str
    """The document or the source that the row names."""
    label: str | None = None
    """The concept that it is about."""
    reason: str


class ConceptsImported(Answer):
    """What was imported."""

    ontology: str
    rows: int
    """That were placed."""
    sources: int
    """That carry what was imported."""
    concepts: int
    """Different labels."""
    appearances: int
    """Concepts in sources, each counted once a source."""
    unverified: int
    """Appearances that no quote proves."""
    emptied: int = 0
    """Sources that carried imported concepts before and carry none now: no row brings any."""
    relations: int
    problems: list[ImportProblem]
    more_problems: int
    """Beyond those given."""


def from_openie(row: dict[str, Any]) -> dict[str, Any]:
    """A line of HippoRAG's open information extraction as a row.

    Args:
        row: {"doc" or "idx", "title", "entities" or "extracted_entities", "triples" or "extracted_triples"};
            what is no text, and triples that are not three, are left out.
    """
    entities = _to_list(row, "entities", "extracted_entities")
    triples = [_texts(each) for each in _to_list(row, "triples", "extracted_triples")]
    labels = dict.fromkeys(each.strip() for each in _texts(entities))
    name = row.get("doc", row.get("idx"))
    place = {"document": None if name is None else str(name), "title": row.get("title") or None}
    return {
        **{key: value for key, value in place.items() if value},
        "concepts": [{"label": each[:200]} for each in labels if each],
        "relations": [
            (subject[:200], kind[:1000], target[:200])
            for subject, kind, target in (each for each in triples if len(each) == 3)  # noqa: PLR2004
            if subject.strip() and kind.strip() and target.strip()
        ],
    }


def portions(
    rows: Iterable[ConceptRow], size: int = 100, characters: int = 400_000
) -> Iterator[list[ConceptRow]]:
    """Rows in portions for a request each, those of one document together, in the order of its first row.

    A portion has about so many rows or characters of JSON, more when one document has more.
    """
    together: dict[str, list[ConceptRow]] = {}
    for row in rows:
        key = row.source_id or f"{row.document if row.document is not None else row.title}\n"
        together.setdefault(key, []).append(row)
    portion: list[ConceptRow] = []
    said = 0
    for group in together.values():
        weight = sum(len(row.model_dump_json()) for row in group)
        if portion and (len(portion) + len(group) > size or said + weight > characters):
            yield portion
            portion, said = [], 0
        portion += group
        said += weight
    if portion:
        yield portion


def _to_list(row: dict[str, Any], *names: str) -> list[Any]:
    for name in names:
        if isinstance(found := row.get(name), list):
            return cast("list[Any]", found)
    return []


def _texts(values: Any) -> list[str]:
    return (
        [each for each in cast("list[Any]", values) if isinstance(each, str)]
        if isinstance(values, list)
        else []
    )
