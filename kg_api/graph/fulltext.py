"""A person's words as full-text queries: tokenised by us and quoted, so that no word is ever an operator.

Lucene's own syntax would make errors of `foo/bar`, `AND` and `(`, match all with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1: HARDENING section 4). A quoted word is one clause, whatever the
index's analyzer makes of it, so the server's limit of 1,024 clauses is never met.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from kg_api.models.identity import scope_of_document, scope_of_ontology

MAX_TERMS = 64
SCOPES_A_QUERY = 450
"""64 words, in two forms each, in four fields, and 450 scopes: 962 clauses of the 1,024 that are allowed."""
FIELDS = {"full_text": 1.0, "heading": 1.0, "title": 1.0, "document": 0.5}
"""The fields of sources that are searched and their weights."""
CONCEPT_FIELDS = {"label": 2.0, "search_terms": 1.0, "description": 0.5}
"""Those of concepts: what a concept is called says more than what is said of it."""


def _extending() -> str:
    """Marks and format characters: they belong to the character on their left and never end a word."""
    planes = map(chr, [*range(0x80, 0x20000), *range(0xE0000, 0xE0200)])
    return "".join(c for c in planes if unicodedata.category(c) in {"Mn", "Mc", "Me", "Cf"} and c != "\u200b")


_EXTENDING = re.escape(_extending())
_SINGLE = "\u3005\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, which the index's analyzer takes apart character by character."""
_WORD = rf"\w[\w{_EXTENDING}]*"
_WORDS = re.compile(rf"{_WORD}(?:['’.]{_WORD})*")
_PARTS = re.compile(rf"[{_SINGLE}][{_EXTENDING}]*|[^{_SINGLE}]+")
_RESERVED = re.compile(r'(["\\])')


def terms(text: str) -> list[str]:
    """The words of a text, each once whatever its case, in order; empty when there are none.

    They keep their case: the analyzer folds it as it did for what is stored, which Python's rules would not.
    """
    composed = unicodedata.normalize("NFC", text)
    first: dict[str, str] = {}
    for part in (part for word in _WORDS.findall(composed) for part in _PARTS.findall(word)):
        first.setdefault(part.lower(), part)
    return [*first.values()]


def lucene_queries(
    words: Sequence[str],
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
    fields: Mapping[str, float] = FIELDS,
) -> list[str]:
    """Queries in Lucene syntax for any of the words, in some ontologies or documents only.

    Words beyond the first 64 are left out: the caller says so. There are several queries when the scopes are
    too many for one, and their scores can be compared; none when there is nothing to look for.
    """
    if not words:
        return []
    asked = _asked(words[:MAX_TERMS], fields)
    if document_ids is not None:
        return [f"{asked} {scope}" for scope in _scopes([*map(scope_of_document, document_ids)])]
    if ontologies is not None:
        return [f"{asked} {scope}" for scope in _scopes([*map(scope_of_ontology, ontologies)])]
    return [asked]


def _asked(words: Sequence[str], fields: Mapping[str, float]) -> str:
    forms = " ".join(_quoted(form) for word in words for form in _forms(word))
    return f"+({' '.join(f'{name}:({forms})^{weight}' for name, weight in fields.items())})"


def _forms(word: str) -> list[str]:
    """A word as composed and as decomposed characters: stored text keeps whichever its author used."""
    return list(dict.fromkeys([word, unicodedata.normalize("NFD", word)]))


def _quoted(word: str) -> str:
    return '"' + _RESERVED.sub(r"\\\1", word) + '"'


def _scopes(tokens: Sequence[str]) -> list[str]:
    """Filters that leave the score as it is."""
    portions = [tokens[at : at + SCOPES_A_QUERY] for at in range(0, len(tokens), SCOPES_A_QUERY)]
    return [f"+scope:({' '.join(portion)})^0" for portion in portions]
