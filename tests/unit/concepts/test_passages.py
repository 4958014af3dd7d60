from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.concepts.search import merge_passages
from kg_api.graph.concepts import Appearance
from kg_api.schemas.concepts import Evidence
from kg_api.schemas.search import Place

LENGTH = 12
"""Paragraphs of each document."""


def place(document: str, paragraph: int) -> Place:
    return Place(
        source_id=f"{document}{paragraph}",
        ontology="notes",
        document=document,
        document_id=document,
        paragraph=paragraph,
        heading=[],
        start=10 * paragraph,
        end=10 * paragraph + 10,
        full_text="ten chars\n",
    )


def appearance(document: str, paragraph: int) -> Appearance:
    own = place(document, paragraph)
    quote = Evidence(instance_id="i", quote="ten", start=own.start, end=own.start + 3, score=1, source=own)
    return Appearance(own, [quote])


def around(found: list[Appearance], window: int) -> dict[str, list[Place]]:
    return {
        each.place.source_id: [
            place(each.place.document, at)
            for at in range(
                max(0, each.place.paragraph - window), min(LENGTH, each.place.paragraph + window + 1)
            )
        ]
        for each in found
    }


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, LENGTH - 1)), unique=True, max_size=12),
    st.integers(0, 3),
)
def test_each_paragraph_stands_in_one_passage_and_each_appearance_too(
    places: list[tuple[str, int]], window: int
) -> None:
    found = [appearance(*each) for each in places]
    passages = merge_passages(found, around(found, window))
    shown = [each.source_id for passage in passages for each in passage.sources]
    assert len(shown) == len(set(shown))
    wanted = {each.source_id for near in around(found, window).values() for each in near}
    assert set(shown) == wanted
    carried = [each for passage in passages for each in passage.carried_by]
    assert sorted(carried) == sorted(each.place.source_id for each in found)
    for passage in passages:
        numbers = [each.paragraph for each in passage.sources]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "in reading order without a gap"
        assert len({each.document_id for each in passage.sources}) == 1
        assert len(passage.quotes) == len(passage.carried_by)
    if found:
        assert passages[0].source_id == found[0].place.source_id, "that of the best source first"


def test_windows_that_touch_are_one_and_others_are_not() -> None:
    found = [appearance("a", 5), appearance("a", 2), appearance("a", 9)]
    passages = merge_passages(found, around(found, 1))
    assert [[each.paragraph for each in passage.sources] for passage in passages] == [
        [1, 2, 3, 4, 5, 6],
        [8, 9, 10],
    ]


def test_a_source_that_has_gone_meanwhile_is_left_out() -> None:
    found = [appearance("a", 5)]
    assert merge_passages(found, {"a5": []}) == []
