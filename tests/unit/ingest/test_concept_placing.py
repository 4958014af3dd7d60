"""Placing concepts: in the sources that say them, by a sentence that is there to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extract import quotes
from kg_api.extract.quotes import QuotedText, QuoteSearch
from kg_api.graph.spaces.due import SourceText
from kg_api.ingest.concept_placing import Allowance, Missing, PlacedConcepts, place
from kg_api.models.concepts.imports import ConceptRow
from kg_api.models.identity import content_hash


def placed(*texts: str) -> list[PlacedConcepts]:
    return [
        PlacedConcepts(SourceText(f"s{at}", "d", at, (), 0, text, content_hash(text)))
        for at, text in enumerate(texts)
    ]


def row(*concepts: dict[str, Any], relations: Any = ()) -> ConceptRow:
    return ConceptRow.model_validate({"document": "d", "concepts": concepts, "relations": relations})


def told(sources: list[PlacedConcepts]) -> list[dict[str, list[str]]]:
    return [{each.label: [quote.text for quote in each.quotes] for each in one.concepts} for one in sources]


def test_a_label_is_proved_by_its_sentence_wherever_it_stands() -> None:
    sources = placed("Ships sail. The tide turns twice a day. Sailors wait.", "Nothing.", "Tide and wind.")
    assert list(place(row({"label": "tide"}), sources)) == []
    assert told(sources) == [{"tide": ["The tide turns twice a day."]}, {}, {"tide": ["Tide and wind."]}]


def test_another_name_proves_it_as_well() -> None:
    sources = placed("The EU met.", "It is the European Union.")
    list(place(row({"label": "European Union", "search_terms": ["EU"]}), sources))
    assert told(sources) == [
        {"European Union": ["The EU met."]},
        {"European Union": ["It is the European Union."]},
    ]


def test_a_label_makes_up_for_no_quote_that_is_lost() -> None:
    sources = placed("The tide turns.", "Tide and wind.")
    given_ = {"label": "tide", "quotes": ["the tide is made of cheese"]}
    assert [each.quote for each in place(row(given_), sources)] == ["the tide is made of cheese"]
    assert told(sources) == [{"tide": []}, {"tide": []}]
    kept = [each.unverified for one in sources for each in one.concepts]
    assert kept == [("the tide is made of cheese",), ()]


def test_a_part_of_a_word_is_no_proof() -> None:
    sources = placed("The artist paints.", "An art is long.")
    list(place(row({"label": "art"}), sources))
    assert told(sources) == [{}, {"art": ["An art is long."]}]


def test_what_stands_nowhere_is_carried_by_the_first_source_without_proof() -> None:
    sources = placed("One.", "Two.")
    list(place(row({"label": "three"}), sources))
    assert told(sources) == [{"three": []}, {}]


def test_a_quote_is_put_where_it_is_best_found_and_told_where_it_is_not() -> None:
    sources = placed("the tide TURNS", "The tide turns.")
    found = list(place(row({"label": "x", "quotes": ["tide turns", "no such words"]}), sources))
    assert found == [Missing("x", "no such words")]
    assert told(sources) == [{}, {"x": ["tide turns"]}]


TRADE = "Ada wrote notes. Charles drew. It rained when Ada met Charles.  They parted."


def quote_of(text: str, *concepts: dict[str, Any], relation: tuple[str, str, str]) -> str | None:
    sources = placed(text)
    list(place(row(*concepts, relations=[relation]), sources))
    (quote,) = [each.quote for each in sources[0].relations]
    assert quote is None or text[quote.start : quote.end] == quote.text
    return quote and quote.text


def test_the_sentence_that_names_both_ends_is_the_quote_of_a_relation() -> None:
    met = "It rained when Ada met Charles."
    assert quote_of(TRADE, relation=("ada", "met", "Charles")) == met
    given_ = {"label": "Ada", "quotes": ["Ada wrote notes."]}
    assert quote_of(TRADE, given_, relation=("Ada", "met", "Charles")) == met
    both = {"label": "Ada", "quotes": ["when Ada met Charles"]}
    assert quote_of(TRADE, both, relation=("Ada", "met", "Charles")) is None, "what was given stands"
    assert quote_of(TRADE, relation=("notes", "of", "Charles")) is None, "no sentence names both"
    assert quote_of(TRADE, relation=("ain", "met", "Charles")) is None, "a part of a word is no name"


def test_relations_are_stated_where_both_stand() -> None:
    sources = placed("Ada wrote notes.", "Ada met Charles.", "Charles built it.")
    list(place(row(relations=[["Ada", "met", "Charles"], ["Charles", "liked", "tea"]]), sources))
    assert [[(each.subject, each.type, each.object) for each in one.relations] for one in sources] == [
        [],
        [("Ada", "met", "Charles"), ("Charles", "liked", "tea")],
        [],
    ]
    assert [sorted(each) for each in told(sources)] == [
        ["Ada", "tea"],
        ["Ada", "Charles", "tea"],
        ["Charles"],
    ]


TEXT = st.lists(
    st.sampled_from(
        ["The tide", " turns", ". ", "\n\n", "tide ", "x" * 400, "潮汐。", "“Tide”", "TIDE", "е́"]
    ),
    max_size=12,
).map("".join)


@given(st.lists(TEXT, min_size=1, max_size=3), st.sampled_from(["tide", "the tide turns", "潮汐", "x", "е́"]))
def test_every_quote_is_a_span(texts: list[str], label: str) -> None:
    sources = placed(*texts)
    list(place(row({"label": label}), sources))
    assert sum(len(each.concepts) for each in sources) >= 1
    for each in sources:
        for quote in (quote for concept in each.concepts for quote in concept.quotes):
            assert each.source.full_text[quote.start : quote.end] == quote.text
            assert 0 < len(quote.text) <= 1000


LONG = "the tide turns twice on every single day"


def test_an_exact_quote_is_found_before_anything_like_it_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: QuoteSearch, quote: QuotedText) -> None:
        raise AssertionError(quote.said)

    monkeypatch.setattr(QuoteSearch, "alike", refuse)
    sources = placed(LONG.replace("twice", "twjce"), LONG.upper(), f"So {LONG}.", LONG)
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == []
    assert told(sources) == [{}, {}, {"x": [LONG]}, {}]
    sources = placed("Nothing.", LONG.upper())
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == []
    assert told(sources) == [{}, {"x": [LONG.upper()]}]


def test_the_likest_passage_counts_where_none_is_exact() -> None:
    sources = placed(LONG.replace("single day", "singel dai"), LONG.replace("twice", "twjce"))
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == []
    assert told(sources) == [{}, {"x": [LONG.replace("twice", "twjce")]}]


def test_looking_for_likeness_has_an_end_that_is_told() -> None:
    sources = placed(*[f"{LONG.replace('twice', 'twjce')} {at}" for at in range(100)])
    allowance = Allowance(0.008)
    wanted = [LONG.replace("every", word) for word in ("each", "evry", "overy")]
    found = list(place(row({"label": "x", "quotes": [*wanted, "no such"]}), sources, allowance))
    assert found == [
        *(Missing("x", quote, unsought=True) for quote in wanted[1:]),
        Missing("x", "no such"),
    ], "two comparisons with all are too many; what is short is looked for to the letter anyway"
    assert told(sources)[0] == {"x": [LONG.replace("twice", "twjce")]}


def test_each_text_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    real = quotes._fold
    monkeypatch.setattr(quotes, "_fold", lambda text, **how: folded.append(text) or real(text, **how))
    sources = placed("One.", "Two.")
    list(place(row(*({"label": f"label {n}", "quotes": [f"quote {n}"]} for n in range(9))), sources))
    assert (folded.count("One."), folded.count("Two.")) == (1, 1)
