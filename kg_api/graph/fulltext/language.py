"""The language in which an ontology's sources are indexed: stored with it, and applied in portions."""

from __future__ import annotations

import time
from typing import Any, Final

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.fulltext.scopes import index_in
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.graph.retrying import LanguageMeanwhile
from kg_api.models.vocabulary import TextLanguage
from kg_api.models.words.language import LANGUAGE_NAMES, OntologyLanguage

MAX_SECONDS: Final = 15.0
"""One request indexes sources for so long at most; the next one goes on where it stopped."""
_CODES: Final = {name: code for code, name in LANGUAGE_NAMES.items()}


def require_language(found: list[Row], language: str | None) -> None:
    """See, before a transaction that indexes sources is committed, that it did so in the right language.

    Raises:
        LanguageMeanwhile: another was chosen since; the transaction is done again.
    """
    if found and found[0]["language"] != language:
        raise LanguageMeanwhile


def read_language(graph: Graph, ontology: str) -> OntologyLanguage:
    """Of one ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    found = graph.read("ontologies/language", name=ontology)
    if not found:
        raise unknown_ontology(graph, ontology)
    return OntologyLanguage(
        ontology=ontology, language=_code(found[0]["language"]), complete=found[0]["after"] is None
    )


def choose_language(
    graph: Graph, ontology: str, language: TextLanguage, *, seconds: float = MAX_SECONDS
) -> OntologyLanguage:
    """Have the sources of an ontology indexed in a language, for so long; the same call goes on.

    Documents that come meanwhile are indexed in it at once. Searches find all sources by their words as they
    stand throughout.

    Raises:
        NotFound: there is no such ontology.
    """
    name = LANGUAGE_NAMES.get(language)
    place = graph.transaction(lambda tx: _choose(tx, ontology, name))
    until, indexed = time.monotonic() + seconds, 0
    while place["after"] is not None and time.monotonic() < until:
        rows = graph.transaction(lambda tx, place=place: _index(tx, ontology, name, place))
        if rows is None:
            break  # another language was chosen: that request goes on
        indexed, place = indexed + len(rows), _behind(rows)
    return OntologyLanguage(
        ontology=ontology, language=language, complete=place["after"] is None, indexed=indexed
    )


def write_language(tx: Transaction, ontology: str, language: TextLanguage) -> None:
    """Choose the language of an ontology that has no sources yet, in the transaction that makes it.

    Raises:
        NotFound: there is no such ontology.
    """
    name = LANGUAGE_NAMES.get(language)
    place = _choose(tx, ontology, name)
    if place["after"] is not None:
        _index(tx, ontology, name, place)


def _choose(tx: Transaction, ontology: str, language: str | None) -> Row:
    """Where indexing in it begins."""
    found = tx.run("ontologies/set_language", name=ontology, language=language)
    if not found:
        raise unknown_ontology(tx, ontology)
    return found[0]


def _index(tx: Transaction, ontology: str, language: str | None, place: Row) -> list[Row] | None:
    rows = index_in(tx, ontology, language, (place["after"], place["after_paragraph"]))
    held = tx.run("ontologies/advance_language", name=ontology, language=language, **_behind(rows))
    return rows if held else None


def _behind(rows: list[Row]) -> dict[str, Any]:
    if not rows:
        return {"after": None, "after_paragraph": None}
    return {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}


def _code(name: str | None) -> Any:
    return "auto" if name is None else _CODES[name]
