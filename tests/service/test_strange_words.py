"""Tests that you can use any text as a query for full-text search: HARDENING 1-17."""

import time

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.graph.client import Graph
from kg_api.graph.fulltext import build_lucene_queries, list_terms
from kg_api.graph.search import SpaceVectors, find_by_text
from tests.service.asking import embedded, found, ingest, search, texts

LITERALS = {
    "03 unbalanced": ("(unbalanced", "a line with an (unbalanced bracket"),
    "04 slash": ("foo/bar", "the path foo/bar is here"),
    "05 AND": ("AND gate", "the gate of a circuit"),
    "06 dangling": ("vessel AND", "a vessel at sea"),
    "06 NOT": ("NOT harbour", "a harbour at night"),
    "07 unclosed": ('"unclosed', 'he said "unclosed and went'),
    "09 field": ("title:secret", "the secret of the sea"),
    "10 C++": ("C++", "written in C++ mostly"),
    "11 tb-": ("tb-", "the variant tb-foo of it"),
    "12 backslash": ("back\\slash", "a back\\slash path"),
    "15 fuzzy": ("zebra~1", "a zebra in the zoo"),
    "16 regex": ("/(abc+)+$/", "an abc book"),
    "boost": ("whale^-1", "a whale of a time"),
    "range": ("[otter TO seal]", "an otter on a stone"),
    "wildcard inside": ("cro*ile crow", "a crow on the roof"),
    "17 Chinese": ("测试文档", "这是一个测试文档。"),
    "17 mark without a composed form": ("x\u0302yz", "the vector x\u0302yz points up"),
    "a word of 300 letters": ("w" * 300, f"so {'w' * 300} it is"),
}


@pytest.mark.parametrize(("query", "text"), LITERALS.values(), ids=LITERALS)
def test_word_with_punctuation_is_found_exactly(http: httpx.Client, query: str, text: str) -> None:
    ingest(http, text, document="it.txt")
    ingest(http, "something else entirely", document="other.txt")
    assert found(http, query) == [text]


def test_08_12_symbols_match_nothing_and_are_reported(http: httpx.Client) -> None:
    ingest(http, "any text at all")
    for query in ("*", "?", "* ?", "***", "~", "\\", "-", "+", "!", "&&", "||", "{", "/[/"):
        answer = search(http, query, mode="text")
        assert (texts(answer), "no word" in answer["degraded"][0]["effect"]) == ([], True), query


def test_08_17_hybrid_search_of_symbols_uses_vectors(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "any text at all")
    for query in ("*", "👩‍👩‍👧", "~", "\u200f"):
        answer = search(http, query)
        assert [hit["ranks"]["text"] for hit in answer["sources"]] == [None], query
        assert "no word" in answer["degraded"][0]["effect"], query


def test_05_06_stop_words_match_nothing(http: httpx.Client) -> None:
    """The English analyzer does not index stop words."""
    ingest(http, "this and that or not to the end")
    for query in ("AND", "OR", "NOT", "TO", "a AND", "the"):
        assert found(http, query) == [], query


def test_09_only_documented_fields_are_searched(http: httpx.Client) -> None:
    ingest(http, "some lamp", document="a.txt", uri="file:///beacon", metadata={"title": "beacon"})
    for query in ("title:beacon", "ontology:notes", "scope:kgo", "document_id:x", "uri:beacon"):
        assert found(http, query) == [], query


def test_15_three_hundred_fuzzy_terms_are_one_word(http: httpx.Client) -> None:
    ingest(http, "ab cd")
    found(http, "warm up")
    begun = time.perf_counter()
    assert found(http, "ab~ " * 300) == ["ab cd"]
    assert time.perf_counter() - begun < 4, "0.2 s on a quiet machine"
    assert found(http, "ac~ " * 300) == [], "nothing is fuzzy"


SIGNS = ["a", "b", "+", "-", "&&", "!", "(", "[", '"', "~", "*", "?", ":", "\\", "/", "AND"]
ANY_TEXT = st.text(max_size=300) | st.lists(st.sampled_from(SIGNS)).map(" ".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_TEXT)
def test_lucene_accepts_queries_from_any_text(graph: Graph, text: str) -> None:
    for query in build_lucene_queries(list_terms(text), ["notes"], None):
        assert find_by_text(graph, query, SpaceVectors({}, {}, {}), 5) == []


def test_exact_phrase_ranks_first(http: httpx.Client) -> None:
    said = {
        "a.txt": "Ada is on call this week; her number is on the list beside the door of the machine room.",
        "b.txt": "Call the porter, who can open the gate.",
        "c.txt": "Who orders paper? The office does, on Mondays.",
        "d.txt": "Those who leave last close the windows.",
        "e.txt": "The list of people who have a key is on the door.",
        "f.txt": "Ask Grace, who knows the machine room best.",
        "g.txt": "The call for papers is open.",
    }
    for name, text in said.items():
        ingest(http, text, name)
    first = search(http, "who is on call", mode="text")["sources"][0]
    assert first["document"] == "a.txt"


def test_stop_words_of_the_question_weigh_less(http: httpx.Client) -> None:
    ingest(http, "Wer hat wann und wo und mit wem und warum was gesagt, und wer nicht?", "stop.txt")
    ingest(http, "Das Schiff wurde im Hafen gebaut. Lange lag es dort, bevor man davon sprach.", "said.txt")
    first = search(http, "wer hat wann das Schiff gebaut", mode="text")["sources"][0]
    assert first["document"] == "said.txt"
