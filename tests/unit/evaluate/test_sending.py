from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.evaluation.run import build_sent_document
from kg_api.evaluation.sets import sample_hash, sample_queries
from kg_api.schemas.evaluation import SetDocument, SetQuery


def test_a_title_goes_above_the_text() -> None:
    sent = build_sent_document(SetDocument("d", "It is long.", "Leases"))
    assert (sent.text, sent.format, sent.title) == ("Leases\n\nIt is long.", "text", "Leases")
    assert sent.find_span(0, 12).model_dump() == {"document": "d", "start": 0, "end": 4}


def test_title_already_in_text_is_not_repeated() -> None:
    sent = build_sent_document(SetDocument("d", "Leases\n\nIt is.", "Leases"))
    assert (sent.text, sent.shift) == ("Leases\n\nIt is.", 0)


@given(st.text(max_size=30), st.text(st.characters(exclude_characters="\n"), max_size=10), st.data())
def test_offsets_lead_back_to_the_same_text(text: str, title: str, data: st.DataObject) -> None:
    sent = build_sent_document(SetDocument("d", text, " ".join(title.split())))
    start = data.draw(st.integers(sent.shift, len(sent.text)))
    end = data.draw(st.integers(start, len(sent.text)))
    found = sent.find_span(start, end)
    assert text[found.start : found.end] == sent.text[start:end]


QUERIES = [SetQuery(f"q{n}", "?") for n in range(400)]


def test_smaller_tiers_are_subsets_of_larger_ones() -> None:
    pilot, standard, full = (
        sample_queries(QUERIES, "pilot"),
        sample_queries(QUERIES, "standard"),
        sample_queries(QUERIES, "full"),
    )
    assert [len(pilot), len(standard), len(full)] == [50, 300, 400]
    names = [{query.query_id for query in tier} for tier in (pilot, standard, full)]
    assert names[0] < names[1] < names[2]
    assert sample_queries(QUERIES[::-1], "pilot") == pilot[::-1]
    assert len({sample_hash(tier) for tier in (pilot, standard, full)}) == 3
