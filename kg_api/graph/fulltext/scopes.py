"""The property `scope` of sources and concepts: what the full-text index holds of them beside their text.

One token each for ontology and document, which filters ask for, the parts of words that the index's analyzer
does not tell apart (kg_api.graph.fulltext.tokens), and stems of languages (kg_api.graph.fulltext.stems).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, LiteralString

from kg_api.graph.database import Row, Transaction
from kg_api.graph.fulltext.stems import stems_of_texts
from kg_api.graph.fulltext.tokens import find_hidden_parts
from kg_api.models.identity import scope_of_document, scope_of_ontology

PORTION: Final = 1000
"""Sources of one transaction that indexes them in another language."""


def scope_of_source(
    ontology: str, document_id: str, texts: Iterable[str], language: str | None = None
) -> list[str]:
    """What is indexed of a source beside the texts that a reader sees of it, its own text first.

    Args:
        ontology: its own.
        document_id: of its document.
        texts: that a reader sees of it.
        language: of its ontology, as `ontologies/set_language` stores it; None: the text's own.
    """
    seen = [*texts]
    scopes = [scope_of_ontology(ontology), scope_of_document(document_id)]
    return [*scopes, *find_hidden_parts(seen), *stems_of_texts(seen, language)]


def index_in(tx: Transaction, ontology: str, language: str | None, after: tuple[str, int]) -> list[Row]:
    """Index the next portion of an ontology's sources in a language; those that were looked at, in order."""
    document, paragraph = after
    found = tx.run(
        "sources/to_index", ontology=ontology, after=document, after_paragraph=paragraph, limit=PORTION
    )
    _write_sources(tx, found, lambda _: language)
    return found


def scope_of_concept(ontology: str, label: str, search_terms: Iterable[str]) -> list[str]:
    """What is indexed of a concept beside its text; its description is no name of it."""
    return [scope_of_ontology(ontology), *find_hidden_parts([label, *search_terms])]


def _fill_sources(tx: Transaction, after: str, *, name: LiteralString) -> str | None:
    found = tx.run(name, after=after)
    _write_sources(tx, found, lambda row: row.get("language"))
    return found[-1]["source_id"] if found else None


def _write_sources(tx: Transaction, found: Iterable[Row], language: Callable[[Row], str | None]) -> None:
    """Index some sources anew, each in its ontology's language, in the order in which all lock them."""
    rows = [{**_to_known(row), "scope": _source(row, language(row))} for row in found]
    tx.run("sources/write_scopes", rows=sorted(_find_changed(rows), key=lambda row: row["source_id"]))


def _fill_concepts(tx: Transaction, after: str) -> str | None:
    found = tx.run("schema/042_concept_scope", after=after)
    rows = [
        {**row, "scope": scope_of_concept(row["ontology"], row["label"], row["search_terms"])}
        for row in found
    ]
    tx.run("concepts/write_scopes", rows=_find_changed(rows))
    return found[-1]["concept_id"] if found else None


def _source(row: Row, language: str | None) -> list[str]:
    texts = (row["full_text"], *row["heading"], row["title"], row["document"])
    return scope_of_source(row["ontology"], row["document_id"], texts, language)


def _to_known(row: Row) -> Row:
    return {name: row[name] for name in ("source_id", "content_hash", "heading", "title", "before")}


def _find_changed(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["scope"] != row["before"]]


FILL: Final[Mapping[str, Callable[[Transaction, str], str | None]]] = MappingProxyType(
    {
        "schema/041_source_scope": partial(_fill_sources, name="schema/041_source_scope"),
        "schema/042_concept_scope": _fill_concepts,
        "schema/077_source_stems": partial(_fill_sources, name="schema/077_source_stems"),
        "schema/094_source_stems_of_letters": partial(
            _fill_sources, name="schema/094_source_stems_of_letters"
        ),
    }
)
"""Migrations that this module computes: each takes the next portion and gives the id that it came to."""
