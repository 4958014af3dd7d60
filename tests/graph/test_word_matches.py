"""Words of a question are marked where full text finds them, and nowhere else: asked of the real index."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.fulltext import QuestionWords, lucene_queries, terms
from kg_api.graph.search import SpaceVectors, by_text
from tests.graph.test_visible_words import JOINED
from tests.support.records import record

NO_VECTORS = SpaceVectors(vectors={}, properties={}, spaces={})
PROSE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "search.md"
LIKE = """
    possible possibly possibilities legible legibly ontology ontologies ontological biology bias biased
    as was gas gases news new hoping hope hop hopping relate relational related conditional condition happy
    happily happiness generalization generalize general generate Python's Pythons python Is ISO
    """.split()  # noqa: SIM905 - a list of words reads better so

STRANGE = set("❶Ꟈ·")
"""The index has a part of such words only, or takes them for others."""


@pytest.fixture(scope="module")
def words() -> list[str]:
    """Words as texts have them, and such as Porter's rules are about."""
    said = re.findall(r"[A-Za-z]{3,}", PROSE.read_text(encoding="utf-8"))
    joined = [word for word in JOINED if unicodedata.is_normalized("NFKC", word) and not STRANGE & set(word)]
    return [*dict.fromkeys([*LIKE, *sorted(set(said))[::15], *joined])]


def test_words_are_marked_where_full_text_finds_them(graph: Graph, words: list[str]) -> None:
    stored = record("words", words)
    store_document(graph, stored)
    texts = {source.source_id: source.full_text for source in stored.sources}
    wrong: list[tuple[str, set[str]]] = []
    for word in words:
        found: set[str] = set()
        for query in lucene_queries(terms(word), fields={"full_text": 1.0}):
            found |= {hit.source.source_id for hit in by_text(graph, query, NO_VECTORS, len(words))}
        asked = QuestionWords(word)
        marked = {source for source, text in texts.items() if asked.find(text)}
        if found != marked:
            wrong.append((word, {texts[each].strip() for each in found ^ marked}))
    assert not wrong, "\n".join(map(str, wrong))
