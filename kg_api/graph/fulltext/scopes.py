"""The property `scope` of sources and concepts: what the full-text index holds of them beside their text.

One token each for ontology and document, which filters ask for, the normal form of words and parts that the
index's analyzer does not tell apart (kg_api.graph.fulltext.tokens), and stems of languages
(kg_api.graph.fulltext.stems). The first source of a document also has its aliases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kg_api.graph.database import Row, Transaction
from kg_api.graph.fulltext.stems import stems_of_texts
from kg_api.graph.fulltext.tokens import find_hidden_parts, parts, runs
from kg_api.models.identity import scope_of_alias, scope_of_document, scope_of_ontology
from kg_api.models.library.metadata import find_aliases

PORTION: Final = 1000
"""Sources of one transaction that indexes them in another language."""


def scope_of_source(
    ontology: str,
    document_id: str,
    texts: Iterable[str],
    language: str | None = None,
    *,
    aliases: Iterable[str] = (),
) -> list[str]:
    """What is indexed of a source beside the texts that a reader sees of it, its own text first.

    Args:
        ontology: its own.
        document_id: of its document.
        texts: that a reader sees of it.
        language: of its ontology, as `ontologies/set_language` stores it; None: the text's own.
        aliases: of its document, if it is the first one.
    """
    seen = [*texts]
    scopes = [scope_of_ontology(ontology), scope_of_document(document_id)]
    return [*scopes, *find_hidden_parts(seen), *stems_of_texts(seen, language), *_index_aliases(aliases)]


def aliases_at(paragraph: int, metadata: str | None) -> list[str]:
    """Return the aliases that the source at a place is found by: those of its document, at the first place.

    Args:
        paragraph: its place.
        metadata: of its document, a JSON object.
    """
    return find_aliases(json.loads(metadata or "{}")) if paragraph == 0 else []


def index_in(tx: Transaction, ontology: str, language: str | None, after: tuple[str, int]) -> list[Row]:
    """Index the next portion of an ontology's sources in a language; those that were looked at, in order."""
    document, paragraph = after
    found = tx.run(
        "sources/to_index", ontology=ontology, after=document, after_paragraph=paragraph, limit=PORTION
    )
    _write_sources(tx, found, lambda _: language)
    return found


def scope_of_concept(ontology: str, label: str, search_terms: Iterable[str], description: str) -> list[str]:
    """What is indexed of a concept beside its text."""
    return [scope_of_ontology(ontology), *find_hidden_parts([label, *search_terms, description])]


def _index_aliases(aliases: Iterable[str]) -> Iterator[str]:
    """Of each its token, for it may be the whole question, and its words."""
    for alias in aliases:
        yield scope_of_alias(alias)
        yield " ".join(filter(None, (parts(run[0]) for run in runs(alias))))


def _write_sources(tx: Transaction, found: Iterable[Row], language: Callable[[Row], str | None]) -> None:
    """Index some sources anew, each in its ontology's language, in the order in which all lock them."""
    rows = [{**row, "scope": _source(row, language(row))} for row in found]
    changed = [{name: row[name] for name in _COMPARED} for row in rows if row["scope"] != row["before"]]
    tx.run("sources/write_scopes", rows=sorted(changed, key=lambda row: row["source_id"]))


def _source(row: Row, language: str | None) -> list[str]:
    texts = (row["full_text"], *row["heading"], row["title"], row["document"])
    aliases = aliases_at(row["paragraph"], row["metadata"])
    return scope_of_source(row["ontology"], row["document_id"], texts, language, aliases=aliases)


_COMPARED: Final = ("source_id", "content_hash", "heading", "title", "paragraph", "metadata", "scope")
"""What is compared with a source that is held, and what is written then."""
