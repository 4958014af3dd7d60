from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.relations import MAX_QUOTE, between, build_edge_text, state
from kg_api.suggestions import NamePlaces, fold

TEXT = "".join(chr(ord("a") + at % 26) for at in range(2000))


Quoted = tuple[int, int]


def quotes(most: int = 3) -> st.SearchStrategy[list[Quoted]]:
    spans = st.tuples(st.integers(0, 1900), st.integers(1, 90))
    return st.lists(spans.map(lambda each: (each[0], each[0] + each[1])), max_size=most)


@given(quotes(), quotes())
def test_quote_is_verbatim_and_as_short_as_possible(subject: list[Quoted], target: list[Quoted]) -> None:
    quote, start, end = between(TEXT, subject, target)
    if not subject and not target:
        assert (quote, start, end) == ("", None, None)
        return
    assert start is not None
    assert end is not None
    assert quote == TEXT[start:end]
    assert len(quote) <= MAX_QUOTE
    pairs = [(min(a[0], b[0]), max(a[1], b[1])) for a in subject for b in target]
    near = [pair for pair in pairs if pair[1] - pair[0] <= MAX_QUOTE]
    if near:
        assert len(quote) == min(b - a for a, b in near), "both concepts' nearest quotes are in it"
    else:
        assert (start, end) in (*subject, *target)


def test_sentence_naming_both_concepts_is_the_quote() -> None:
    text = "Aspirin is old. Aspirin lowers the danger of stroke."
    first, second = (0, 15), (16, len(text))
    places = NamePlaces(lambda: fold(text))
    assert between(text, [first], [second], places.pair("aspirin", "stroke")) == (text[16:], 16, len(text))
    assert between(text, [first], [second], places.pair("aspirin", "ibuprofen")) == (text, 0, len(text))


def test_a_type_is_read_as_words() -> None:
    assert state("Ada", "born_in", "London") == "Ada born in London"
    assert build_edge_text("a is b", "") == "a is b"
    assert build_edge_text("a is b", "A is b.") == "a is b: A is b."
