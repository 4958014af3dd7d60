"""Tests that you can use any text as a query for full-text search: HARDENING 1-17."""

from __future__ import annotations

import time
import unicodedata

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.graph.client import Graph
from kg_api.graph.fulltext import build_lucene_queries, terms
from kg_api.graph.search import SpaceVectors, by_text
from tests.service.asking import embedded, found, ingest, search, texts

STOP_WORDS = (
    " a an and are as at be but by for if in into is it no not of on or s such t that the their then there "
    "these they this to was will with "
)
"""Stop words that are used by the English analyzer of the index."""
LITERALS = {
    "03 unbalanced": ("(unbalanced", "a line with an (unbalanced bracket"),
    "04 slash": ("foo/bar", "the path foo/bar is here"),
    "04 and-or": ("lorry/and", "one lorry/and another"),
    "05 AND": ("AND gate", "the gate of a circuit"),
    "06 dangling": ("vessel AND", "a vessel at sea"),
    "06 NOT": ("NOT harbour", "a harbour at night"),
    "07 unclosed": ('"unclosed', 'he said "unclosed and went'),
    "09 field": ("title:secret", "the secret of the sea"),
    "10 C++": ("C++", "written in C++ mostly"),
    "10 C#": ("C#", "written in C# mostly"),
    "10 .NET": (".NET", "it runs on .NET today"),
    "11 tb-": ("tb-", "the variant tb-foo of it"),
    "12 backslash": ("back\\slash", "a back\\slash path"),
    "15 fuzzy": ("zebra~1", "a zebra in the zoo"),
    "16 regex": ("/(abc+)+$/", "an abc book"),
    "boost": ("whale^-1", "a whale of a time"),
    "range": ("[otter TO seal]", "an otter on a stone"),
    "wildcard inside": ("cro*ile crow", "a crow on the roof"),
    "17 Chinese": ("测试文档", "这是一个测试文档。"),
    "17 Japanese": ("日本のアニメ", "日本のアニメを見る"),
    "17 Arabic": ("السلام", "السلام عليكم"),
    "17 Arabic with marks": ("مُحَمَّد", "اسمه مُحَمَّد هنا"),
    "17 Persian with a joiner": ("می\u200cخواهم", "من می\u200cخواهم بروم"),
    "17 Hebrew": ("שלום", "שלום לכולם"),
    "17 Hindi": ("हिन्दी", "यह हिन्दी भाषा है"),
    "17 Thai": ("น้ำ", "น้ำ"),
    "17 Greek capitals": ("ΟΔΟΣ", "Η ΟΔΟΣ είναι εδώ"),
    "17 Turkish capital": ("İSTANBUL", "in İstanbul they say"),
    "17 mark without a composed form": ("x\u0302yz", "the vector x\u0302yz points up"),
    "a word of 300 letters": ("w" * 300, f"so {'w' * 300} it is"),
    "a number with dots": ("2026.08.1", "since 2026.08.1 it does"),
    "an apostrophe": ("don’t", "we don’t say"),
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


def test_11_a_dash_excludes_nothing(http: httpx.Client) -> None:
    ingest(http, "the foo of it")
    assert found(http, "the -foo") == ["the foo of it"]


def test_15_three_hundred_fuzzy_terms_are_one_word(http: httpx.Client) -> None:
    ingest(http, "ab cd")
    found(http, "warm up")
    begun = time.perf_counter()
    assert found(http, "ab~ " * 300) == ["ab cd"]
    assert time.perf_counter() - begun < 4, "0.2 s on a quiet machine"
    assert found(http, "ac~ " * 300) == [], "nothing is fuzzy"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_17_composed_and_decomposed_characters_are_the_same(http: httpx.Client, form: str) -> None:
    words = "café Ångström tiếng 한국어"
    ingest(http, unicodedata.normalize(form, words))  # pyright: ignore[reportArgumentType]
    for word in words.split():
        hits = [found(http, unicodedata.normalize(form, word)) for form in ("NFC", "NFD")]
        assert hits[0] == hits[1] == [unicodedata.normalize(form, words)]  # pyright: ignore[reportArgumentType]


def test_documents_with_more_query_words_rank_higher(http: httpx.Client) -> None:
    for number, text in enumerate(["red apples", "green apples fall", "blue plums"]):
        ingest(http, text, document=f"{number}.txt")
    assert found(http, "do green apples grow?") == ["green apples fall", "red apples"]


SIGNS = ["a", "b", "+", "-", "&&", "!", "(", "[", '"', "~", "*", "?", ":", "\\", "/", "AND"]
ANY_TEXT = st.text(max_size=300) | st.lists(st.sampled_from(SIGNS)).map(" ".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_TEXT)
def test_lucene_accepts_queries_from_any_text(graph: Graph, text: str) -> None:
    for query in build_lucene_queries(terms(text), ["notes"], None):
        assert by_text(graph, query, SpaceVectors({}, {}, {}), 5) == []


LETTERS = st.characters(max_codepoint=0xD7FF, categories=["Lu", "Ll", "Lo", "Lm"])
WORDS = st.builds(
    str.__add__,
    LETTERS,
    st.text(LETTERS | st.characters(max_codepoint=0xD7FF, categories=["Nd", "Mn", "Mc"]), max_size=8),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=3))
def test_document_is_found_by_any_of_its_words(http: httpx.Client, words: list[str]) -> None:
    text = unicodedata.normalize("NFC", " ".join(words))
    ingest(http, text, document="hypothesis.txt")
    for word in terms(text):
        assert f" {word.lower()} " in STOP_WORDS or found(http, word) == [text], word


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
