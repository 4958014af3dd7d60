from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction import replies
from kg_api.graph.concepts import evidence, resolve_names
from kg_api.graph.vectors import SourceText
from kg_api.ingest.concepts import Missing, PlacedConcepts, place
from kg_api.schemas.base import content_hash
from kg_api.schemas.concepts import ConceptRow


def placed(*texts: str) -> list[PlacedConcepts]:
    return [
        PlacedConcepts(SourceText(f"s{at}", "d", at, (), 0, text, content_hash(text)))
        for at, text in enumerate(texts)
    ]


def row(*concepts: dict[str, Any], relations: Any = ()) -> ConceptRow:
    return ConceptRow.model_validate({"document": "d", "concepts": concepts, "relations": relations})


def told(sources: list[PlacedConcepts]) -> list[dict[str, list[str]]]:
    return [{each.label: [quote.text for quote in each.quotes] for each in one.concepts} for one in sources]


def test_label_is_proved_by_its_sentence() -> None:
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


def test_label_does_not_replace_a_lost_quote() -> None:
    sources = placed("The tide turns.", "Tide and wind.")
    given_ = {"label": "tide", "quotes": ["the tide is made of cheese"]}
    assert [each.quote for each in place(row(given_), sources)] == ["the tide is made of cheese"]
    assert told(sources) == [{"tide": []}, {"tide": []}]
    kept = [each.unverified for one in sources for each in one.concepts]
    assert kept == [("the tide is made of cheese",), ()]


def test_part_of_a_word_is_not_proof() -> None:
    sources = placed("The artist paints.", "An art is long.")
    list(place(row({"label": "art"}), sources))
    assert told(sources) == [{}, {"art": ["An art is long."]}]


def test_unplaced_label_is_unproven_in_first_source() -> None:
    sources = placed("One.", "Two.")
    list(place(row({"label": "three"}), sources))
    assert told(sources) == [{"three": []}, {}]


def test_quote_is_placed_at_its_best_match() -> None:
    sources = placed("the tide TURNS", "The tide turns.")
    found = list(place(row({"label": "x", "quotes": ["tide turns", "no such words"]}), sources))
    assert found == [Missing("x", "no such words")]
    assert told(sources) == [{}, {"x": ["tide turns"]}]


TRADE = "Ada wrote notes. Charles drew. It rained when Ada met Charles.  They parted."


def quote_of(text: str, *concepts: dict[str, Any], relation: tuple[str, str, str]) -> str:
    sources = placed(text)
    list(place(row(*concepts, relations=[relation]), sources))
    made = [each.extraction() for each in sources]
    (stored,) = evidence("o", made, resolve_names("o", made, {}), {"s0": text}, "import").relations
    assert text[stored.start : stored.end] == stored.quote
    return stored.quote


MET = ("Ada", "met", "Charles")


def test_sentence_naming_both_ends_quotes_the_relationship() -> None:
    met = "It rained when Ada met Charles."
    assert quote_of(TRADE, relation=("ada", "met", "Charles")) == met
    wrote = {"label": "Ada", "quotes": ["Ada wrote notes."]}
    assert quote_of(TRADE, wrote, relation=MET) == met
    both = {"label": "Ada", "quotes": ["when Ada met Charles"]}
    assert quote_of(TRADE, both, relation=MET) == "when Ada met Charles", "what was given stands"
    twice = {"label": "Ada", "quotes": ["Ada wrote notes.", met]}
    assert quote_of(TRADE, twice, relation=MET) == met, "though both are nearer to each other in two quotes"
    assert quote_of(TRADE, relation=("notes", "of", "Charles")) == "Ada wrote notes. Charles drew."
    wide = "Ada  Lovelace one day met Charles  Babbage. He built it then, Charles Babbage."
    knew = {"label": "Charles Babbage", "quotes": ["He built it then, Charles Babbage."]}
    met = "Ada  Lovelace one day met Charles  Babbage."
    assert quote_of(wide, knew, relation=("Ada Lovelace", "met", "Charles Babbage")) == met


def test_part_of_another_name_is_not_a_match() -> None:
    sources = placed(TRADE)
    list(place(row(relations=[("ain", "met", "Charles")]), sources))
    assert [each.quote for each in sources[0].relations] == [None]
    kept = "Python is kept by people of the Python Software Foundation."
    text = f"The Python Software Foundation was founded in 2001. {kept}"
    for ends in (("Python", "Python Software Foundation"), ("Python Software Foundation", "Python")):
        assert quote_of(text, relation=(ends[0], "kept by", ends[1])) == kept
    founded = {"label": "Python", "quotes": ["Python Software Foundation was founded in 2001."]}
    assert quote_of(text, founded, relation=("Python", "kept by", "Python Software Foundation")) == kept
    cities = "New York City plays. New York has a York City."
    assert quote_of(cities, relation=("New York", "has", "York City")) == "New York has a York City."


def test_relationships_are_placed_with_both_concepts() -> None:
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


def test_exact_quotes_are_found_before_other_forms() -> None:
    sources = placed(LONG.replace("twice", "twjce"), LONG.upper(), f"So {LONG}.", LONG)
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == []
    assert told(sources) == [{}, {}, {"x": [LONG]}, {}]
    sources = placed("Nothing.", LONG.upper())
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == []
    assert told(sources) == [{}, {"x": [LONG.upper()]}]


def test_a_quote_with_another_word_is_missing() -> None:
    sources = placed(LONG.replace("twice", "twjce"))
    assert list(place(row({"label": "x", "quotes": [LONG]}), sources)) == [Missing("x", LONG)]


def test_each_text_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    real = replies.fold
    monkeypatch.setattr(replies, "fold", lambda text, **how: folded.append(text) or real(text, **how))
    sources = placed("One.", "Two.")
    list(place(row(*({"label": f"label {n}", "quotes": [f"quote {n}"]} for n in range(9))), sources))
    assert (folded.count("One."), folded.count("Two.")) == (1, 1)
