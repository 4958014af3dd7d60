"""A person's words as full-text queries: tokenised by us and quoted, so that no word is ever an operator.

Lucene's own syntax would make errors of `foo/bar`, `AND` and `(`, match all with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1: HARDENING section 4). A quoted word is one clause, whatever the
index's analyzer makes of it, so the server's limit of 1,024 clauses is never met.

What that analyzer does not tell apart is indexed beside the text, in the field `scope`, and asked for there
(kg_api.graph.fulltext.tokens).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise

from kg_api.graph.database import portions
from kg_api.graph.fulltext.tokens import EXTENDING, SINGLE, find_hidden_parts, parts, runs
from kg_api.models.identity import scope_of_document, scope_of_ontology

MAX_TERMS = 64
MAX_STEMS = 64
SCOPES_A_QUERY = 366
"""64 words, in two forms in four fields and once in `scope`, 64 stems, 366 scopes: 1,006 of 1,024 clauses."""
FIELDS = {"full_text": 1.0, "heading": 1.0, "title": 1.0, "document": 0.5}
"""The fields of sources that are searched and their weights."""
CONCEPT_FIELDS = {"label": 2.0, "search_terms": 1.0, "description": 0.5}
"""Those of concepts: what a concept is called says more than what is said of it."""
LIGHT = "^0.5"
"""The weight of stop words beside the others: ADR 51 has what others give."""
STEMS_WEIGHT = 1.0
"""Of stems in the language of a text: ADR 57 has what others give."""
PARTS_WEIGHT = 1.0
"""Of words that only their parts are found by."""

_WORD = rf"\w[\w{EXTENDING}]*"
_WORDS = re.compile(rf"{_WORD}(?:['’.]{_WORD})*")
_PARTS = re.compile(rf"[{SINGLE}][{EXTENDING}]*|[^{SINGLE}]+")
_RESERVED = re.compile(r'(["\\])')


def terms(text: str) -> list[str]:
    """The words of a text, each once whatever its case, in order; empty when there are none.

    What the analyzer may have stored as one word goes before its parts: `title:secret`, `title`, `secret`.
    They keep their case: the analyzer folds it as it did for what is stored, which Python's rules would not.
    """
    composed = unicodedata.normalize("NFC", text)
    separate = (
        (found.start(), part) for found in _WORDS.finditer(composed) for part in _PARTS.findall(found[0])
    )
    at = sorted([*_split_joined(composed), *separate], key=lambda each: each[0])
    first: dict[str, str] = {}
    for _, word in at:
        first.setdefault(word.lower(), word)
    return [*first.values()]


def word_pairs(text: str) -> list[str]:
    """Words that stand beside each other, in lower case, each pair once: what is said in the same words.

    Words that the index leaves out are among them: `who is on call` has `on call`.
    """
    words = [found[0].lower() for found in _WORDS.finditer(unicodedata.normalize("NFC", text))]
    return [*dict.fromkeys(map(" ".join, pairwise(words[:MAX_TERMS])))]


def _split_joined(text: str) -> Iterator[tuple[int, str]]:
    """Words that punctuation joins, which are more than one for a reader."""
    for found in runs(text):
        if not _WORDS.fullmatch(found[0]) and parts(found[0]):
            yield found.start(), found[0]


def lucene_queries(
    words: Sequence[str],
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
    fields: Mapping[str, float] = FIELDS,
    *,
    light: Container[str] = (),
    stems: Sequence[str] = (),
) -> list[str]:
    """Queries in Lucene syntax for any of the words, in some ontologies or documents only.

    Words that are `light`, told in lower case, count half.
    Words beyond the first 64 are left out: the caller says so. There are several queries when the scopes are
    too many for one, and their scores can be compared; none when there is nothing to look for.
    """
    if not words:
        return []
    asked = _to_lucene(words[:MAX_TERMS], fields, light, stems[:MAX_STEMS])
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def fuzzy_queries(
    clauses: str,
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
) -> list[str]:
    """Queries for texts with words like one (kg_api.graph.fulltext.spelling), where a search looks."""
    asked = f"+({' '.join(f'{name}:({clauses})^{weight}' for name, weight in FIELDS.items())})"
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def _within(ontologies: Sequence[str] | None, document_ids: Sequence[str] | None) -> list[str]:
    if document_ids is not None:
        return _scopes([*map(scope_of_document, document_ids)])
    if ontologies is not None:
        return _scopes([*map(scope_of_ontology, ontologies)])
    return [""]


def _to_lucene(
    words: Sequence[str], fields: Mapping[str, float], light: Container[str], stems: Sequence[str]
) -> str:
    weights = [LIGHT if word.lower() in light else "" for word in words]
    weighed = [*zip(words, weights, strict=True)]
    forms = " ".join(_quote(form) + weight for word, weight in weighed for form in _forms(word))
    hidden = " ".join(_quote(parts(word)) + weight for word, weight in weighed if _may_be_hidden(word))
    asked = [(name, forms, weight) for name, weight in fields.items()]
    if hidden:
        asked.append(("scope", hidden, PARTS_WEIGHT))
    if stems:
        asked.append(("scope", " ".join(map(_quote, stems)), STEMS_WEIGHT))
    return f"+({' '.join(f'{name}:({each})^{weight}' for name, each, weight in asked)})"


def _may_be_hidden(word: str) -> bool:
    """Not one Chinese character that the analyzer tells apart: few texts have it in `scope`, by chance.

    There it would count as a rare word does: nDCG@10 of Chinese beside other languages 94.5, and 96.5 so.
    """
    return not re.fullmatch(f"[{SINGLE}]", word) or bool(find_hidden_parts([word]))


def _forms(word: str) -> list[str]:
    """A word as composed and as decomposed characters: stored text keeps whichever its author used."""
    return list(dict.fromkeys([word, unicodedata.normalize("NFD", word)]))


def _quote(word: str) -> str:
    return '"' + _RESERVED.sub(r"\\\1", word) + '"'


def _scopes(tokens: Sequence[str]) -> list[str]:
    """Filters that leave the score as it is."""
    return [f"+scope:({' '.join(some)})^0" for some in portions(tokens, SCOPES_A_QUERY)]
