from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.concepts import (
    TERMS,
    Difference,
    EvidenceRows,
    build_evidence_rows,
    collect_concept_names,
    collect_first_texts,
    compute_difference,
    find_changed_texts,
    iterate_all_names,
    resolve_names,
)
from kg_api.graph.relations import MAX_QUOTE, find_text_between
from kg_api.schemas.base import normalize_concept_name
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.suggestions import NamedPair, NamePlaces, fold

TEXTS = {"s1": "bees dance on flowers", "s2": "wasps and bees"}
LABELS = st.sampled_from(["bees", "Bees", "dance", "flowers", "wasps", "PEP 8", "", "\x00"])


@st.composite
def quotes(draw: st.DrawFn, source: str) -> Quote:
    text = TEXTS[source]
    start = draw(st.integers(-2, len(text)))
    end = draw(st.integers(start, len(text) + 2))
    words = draw(st.sampled_from([text[max(start, 0) : end], "bees", ""]))
    return Quote(words, start, end, draw(st.sampled_from([1.0, 0.9])))


@st.composite
def extractions(draw: st.DrawFn) -> list[Extraction]:
    made: list[Extraction] = []
    for source in draw(st.sampled_from([["s1"], ["s2"], ["s1", "s2"]])):
        found = st.builds(
            ExtractedConcept,
            LABELS,
            st.lists(quotes(source), max_size=3).map(tuple),
            st.sampled_from(["", "something"]),
            st.lists(LABELS, max_size=2).map(tuple),
            st.floats(),
        )
        relations = st.builds(ExtractedRelation, LABELS, st.sampled_from(["likes", ""]), LABELS)
        made.append(
            Extraction(
                source,
                "hash",
                tuple(draw(st.lists(found, max_size=4))),
                tuple(draw(st.lists(relations, max_size=3))),
            )
        )
    return made


def rows(found: list[Extraction], extracted_with: str) -> EvidenceRows:
    return build_evidence_rows("o", found, resolve_names("o", found, {}), TEXTS, extracted_with)


def after(present: EvidenceRows, change: Difference) -> EvidenceRows:
    kept: list[list[object]] = []
    for name in ("appearances", "quotes", "relations"):
        gone = {row.key for row in getattr(change.gone, name)}
        now = {row.key: row for row in getattr(present, name) if row.key not in gone}
        now |= {row.key: row for row in getattr(change.write, name)}
        kept.append([now[key] for key in sorted(now)])
    return EvidenceRows(*kept)  # pyright: ignore[reportArgumentType]


def check(present: EvidenceRows) -> None:
    proven = {(row.source_id, row.concept_id) for row in present.quotes}
    assert proven <= {row.key for row in present.appearances}
    assert all(row.verified == (row.key in proven) for row in present.appearances)
    assert all(0 <= row.confidence <= 1 for row in present.appearances)
    assert all(TEXTS[row.source_id][row.start : row.end] == row.quote != "" for row in present.quotes)
    assert all(row.subject != row.object for row in present.relations)


STEPS = st.lists(extractions(), max_size=6)


@given(STEPS)
def test_evidence_is_right_after_whatever_was_written(steps: list[list[Extraction]]) -> None:
    present = EvidenceRows()
    for found in steps:
        ids = {each.source_id for each in found}
        there = EvidenceRows(*([row for row in part if row.source_id in ids] for part in _parts(present)))  # pyright: ignore[reportArgumentType]
        wanted = rows(found, "m")
        change = compute_difference(wanted, there)
        present = after(present, change)
        check(present)
        now = EvidenceRows(*([row for row in part if row.source_id in ids] for part in _parts(present)))  # pyright: ignore[reportArgumentType]
        assert compute_difference(wanted, now) == Difference(
            EvidenceRows([], [], []), EvidenceRows([], [], [])
        )


def _parts(present: EvidenceRows) -> tuple[Sequence[Any], ...]:
    return present.appearances, present.quotes, present.relations


@given(extractions())
def test_every_name_means_one_concept_whatever_the_order(found: list[Extraction]) -> None:
    means = resolve_names("o", found, {})
    assert means.keys() == collect_concept_names("o", found).keys()
    assert resolve_names("o", found[::-1], {}).keys() == means.keys()
    first = collect_first_texts("o", found, means)
    said = rows(found, "m").appearances
    known = find_changed_texts(first, {}, said)
    assert find_changed_texts(first | known, known, said) == {}, "what is known already is no change"
    assert known.keys() == {*means.values()}


@given(st.text(), st.text(), st.lists(st.text(), max_size=40))
def test_untrusted_text_is_cleaned(label: str, description: str, terms: list[str]) -> None:
    found = [Extraction("s1", "hash", (ExtractedConcept(label, (), description, tuple(terms)),))]
    for one in iterate_all_names(found):
        for text in (one.label, one.description, *one.terms):
            text.encode()
            assert text == text.strip()
            assert not any(ord(letter) < ord(" ") or 0x7F <= ord(letter) < 0xA0 for letter in text)
        assert normalize_concept_name(one.label)
        assert (len(one.label) <= 200, len(one.description) <= 1000, len(one.terms) <= TERMS) == (True,) * 3


TEXT = "".join(chr(ord("a") + at % 26) for at in range(2000))


Quoted = tuple[int, int]


def spans(most: int = 3) -> st.SearchStrategy[list[Quoted]]:
    spans = st.tuples(st.integers(0, 1900), st.integers(1, 90))
    return st.lists(spans.map(lambda each: (each[0], each[0] + each[1])), max_size=most)


@given(spans(), spans())
def test_quote_is_verbatim_and_as_short_as_possible(subject: list[Quoted], target: list[Quoted]) -> None:
    quote, start, end = find_text_between(TEXT, subject, target)
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
        assert len(quote) == min(b - a for a, b in near), "both concepts' nearest spans are in it"
    else:
        assert (start, end) in (*subject, *target)


def test_name_within_the_other_name_does_not_match() -> None:
    places = NamePlaces(lambda: fold("Python Software Foundation, not Python"))
    assert places.pair("python", "python software foundation") == NamedPair([(32, 38)], [(0, 26)])
    assert places.pair("python software foundation", "python") == NamedPair([(0, 26)], [(32, 38)])


def test_sentence_naming_both_concepts_is_the_quote() -> None:
    text = "Aspirin is old. Aspirin lowers the danger of stroke."
    first, second = (0, 15), (16, len(text))
    places = NamePlaces(lambda: fold(text))
    assert find_text_between(text, [first], [second], places.pair("aspirin", "stroke")) == (
        text[16:],
        16,
        len(text),
    )
    assert find_text_between(text, [first], [second], places.pair("aspirin", "ibuprofen")) == (
        text,
        0,
        len(text),
    )


def test_span_of_a_name_includes_its_variation_selector() -> None:
    assert [*fold("I ❤\ufe0f owls").find_all("❤")] == [(2, 4)]
