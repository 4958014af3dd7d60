"""A person's words as full-text queries: tokenised by us and quoted, so that no word is ever an operator.

Lucene's own syntax would make errors of `foo/bar`, `AND` and `(`, match all with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1: HARDENING section 4). A quoted word is one clause, whatever the
index's analyzer makes of it, so the server's limit of 1,024 clauses is never met.

Words are asked for in normal form. That of words which a text writes otherwise is indexed beside it, in the
field `scope`, as are parts that the analyzer does not tell apart (kg_api.graph.fulltext.tokens).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise

from kg_api.graph.database import portions
from kg_api.graph.fulltext.tokens import EXTENDING, PIECES, SINGLE, TURNS, find_hidden_parts, parts, runs
from kg_api.graph.fulltext.variants import MAX_VARIANTS, Variant
from kg_api.models.identity import scope_of_document, scope_of_ontology
from kg_api.wording.normal_form import fold_letters, normalise_text

MAX_TERMS = 64
MAX_STEMS = 64
SCOPES_A_QUERY = 366
"""64 words and 32 variants in four fields and `scope`, 64 stems, a name, 366 scopes: 911 of 1,024 clauses."""
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
NAME_WEIGHT = 2.0
"""Of a document whose alias is the whole question."""

_WORD = rf"\w[\w{EXTENDING}]*"
_WORDS = re.compile(rf"{_WORD}(?:['’.]{_WORD})*")
_RESERVED = re.compile(r'(["\\])')


def terms(text: str) -> list[str]:
    """The words of a text, each once whatever its case, in order; empty when there are none.

    What the analyzer may have stored as one word goes before its parts: `title:secret`, `title`, `secret`.
    They are in normal form, and keep their case: the analyzer folds it as it did for what is stored, which
    Python's rules would not.
    """
    normal = normalise_text(text)
    separate = (
        (found.start(), each)
        for found in _WORDS.finditer(normal)
        for part in PIECES.findall(found[0])
        for each in dict.fromkeys([part, *TURNS.split(part)])
    )
    at = sorted([*_split_joined(normal), *separate], key=lambda each: each[0])
    first: dict[str, str] = {}
    for _, word in at:
        first.setdefault(word.lower(), word)
    return [*first.values()]


def word_pairs(text: str) -> list[str]:
    """Words that stand beside each other, in lower case, each pair once: what is said in the same words.

    Words that the index leaves out are among them: `who is on call` has `on call`.
    """
    words = [found[0].lower() for found in _WORDS.finditer(normalise_text(text))]
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
    variants: Sequence[Variant] = (),
    name: str | None = None,
) -> list[str]:
    """Queries in Lucene syntax for any of the words, in some ontologies or documents only.

    Words that are `light`, told in lower case, count half.
    Words beyond the first 64 are left out: the caller says so. There are several queries when the scopes are
    too many for one, and their scores can be compared; none when there is nothing to look for.

    Args:
        words: of a question.
        ontologies: where to look; None: everywhere.
        document_ids: where to look; None: everywhere.
        fields: to look through, with their weights.
        light: words that say little.
        stems: of the words in other languages.
        variants: other ways to write the question's numbers and letters.
        name: the token of the documents whose alias is the question.
    """
    if not words:
        return []
    weighed = [(word, LIGHT if word.lower() in light else "") for word in words[:MAX_TERMS]]
    others = [(each.words, "" if each.weight == 1 else f"^{each.weight}") for each in variants]
    others += [(folded, weight) for word, weight in weighed if (folded := fold_letters(word)) != word]
    weighed += others[:MAX_VARIANTS]
    beside = [(" ".join(map(_quote, stems[:MAX_STEMS])), STEMS_WEIGHT), (name or "", NAME_WEIGHT)]
    asked = _to_lucene(weighed, fields, beside)
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def fuzzy_queries(
    clauses: str,
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
) -> list[str]:
    """Queries for texts with words like one (kg_api.graph.fulltext.spelling), where a search looks."""
    searched = {**FIELDS, "scope": PARTS_WEIGHT}
    asked = f"+({' '.join(f'{name}:({clauses})^{weight}' for name, weight in searched.items())})"
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def _within(ontologies: Sequence[str] | None, document_ids: Sequence[str] | None) -> list[str]:
    if document_ids is not None:
        return _scopes([*map(scope_of_document, document_ids)])
    if ontologies is not None:
        return _scopes([*map(scope_of_ontology, ontologies)])
    return [""]


def _to_lucene(
    weighed: Sequence[tuple[str, str]], fields: Mapping[str, float], beside: Sequence[tuple[str, float]]
) -> str:
    """Each word with its weight in each field, and what is asked of `scope` besides."""
    plain = " ".join(_quote(word) + weight for word, weight in weighed)
    once: dict[str, str] = {}
    for word, weight in weighed:
        if _may_be_hidden(word):
            once.setdefault(_quote(parts(word)), weight)
    hidden = " ".join(word + weight for word, weight in once.items())
    asked = [(field, plain, weight) for field, weight in fields.items()]
    asked += [("scope", each, weight) for each, weight in [(hidden, PARTS_WEIGHT), *beside] if each]
    return f"+({' '.join(f'{field}:({each})^{weight}' for field, each, weight in asked)})"


def _may_be_hidden(word: str) -> bool:
    """Not one Chinese character that the analyzer tells apart: few texts have it in `scope`, by chance.

    There it would count as a rare word does: nDCG@10 of Chinese beside other languages 94.5, and 96.5 so.
    """
    return not re.fullmatch(f"[{SINGLE}]", word) or bool(find_hidden_parts([word]))


def _quote(word: str) -> str:
    return '"' + _RESERVED.sub(r"\\\1", word) + '"'


def _scopes(tokens: Sequence[str]) -> list[str]:
    """Filters that leave the score as it is."""
    return [f"+scope:({' '.join(some)})^0" for some in portions(tokens, SCOPES_A_QUERY)]
