"""A person's words as a full-text query: tokenised by us and escaped, so that no word is ever an operator.

Lucene's own syntax would make errors of `foo/bar`, `AND` and `(`, match all with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1: HARDENING section 4).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from kg_api.models.identity import scope_of_document, scope_of_ontology

MAX_TERMS = 64
MAX_TERM_CHARACTERS = 100
FIELDS = {"full_text": 1.0, "heading": 1.0, "document": 0.5}
"""The fields that are searched and their weights."""

_WORDS = re.compile(r"\w+(?:['’.]\w+)*")
_RESERVED = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/<>= ])')


def terms(text: str) -> list[str]:
    """The words of a text in lower case, each once, in order; empty when there are none."""
    folded = unicodedata.normalize("NFC", text).lower()
    return list(dict.fromkeys(word[:MAX_TERM_CHARACTERS] for word in _WORDS.findall(folded)))


def lucene_query(
    words: Sequence[str], ontologies: Sequence[str] | None = None, document_ids: Sequence[str] | None = None
) -> str | None:
    """A query in Lucene syntax for any of the words, in some ontologies and documents only.

    Words beyond the first 64 are left out: the caller says so. None when there are no words: nothing is to be
    asked then.
    """
    if not words:
        return None
    forms = " ".join(_escaped(form) for word in words[:MAX_TERMS] for form in _forms(word))
    clauses = [f"+({' '.join(f'{name}:({forms})^{weight}' for name, weight in FIELDS.items())})"]
    if ontologies is not None:
        clauses.append(_scope([scope_of_ontology(name) for name in ontologies]))
    if document_ids is not None:
        clauses.append(_scope([scope_of_document(identity) for identity in document_ids]))
    return " ".join(clauses)


def _forms(word: str) -> list[str]:
    """A word as composed and as decomposed characters: stored text keeps whichever its author used."""
    return list(dict.fromkeys([word, unicodedata.normalize("NFD", word)]))


def _escaped(word: str) -> str:
    return _RESERVED.sub(r"\\\1", word)


def _scope(tokens: Sequence[str]) -> str:
    """A filter that leaves the score as it is."""
    return f"+scope:({' '.join(tokens)})^0" if tokens else "+scope:kgnothing^0"
