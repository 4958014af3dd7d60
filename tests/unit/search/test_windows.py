from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.schemas.search import ContextWindow, MatchedChunk, Place, SourceContext, SourceHit, SourceSearch
from kg_api.schemas.vocabulary import MAX_CURSOR_CHARACTERS, MAX_PAGED_HITS
from kg_api.search.plan import HitPage, read_page
from kg_api.search.present import fit_to_budget, merge_windows
from kg_api.search.rank import MIN_OVERLAP, group_near_duplicates, overlap
from tests.support.hits import make_hit, make_place

WORDS = st.text("ab c\né😀", min_size=1, max_size=12)
DOCUMENTS = st.lists(st.lists(WORDS, min_size=1, max_size=12), min_size=1, max_size=3)


def tokens_of(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def document(texts: Sequence[str], name: str = "d") -> list[Place]:
    starts = [sum(map(len, texts[:at])) for at in range(len(texts))]
    return [
        make_place(f"{name}-{at}", text, start, document_id=name, paragraph=at, heading=[str(at)])
        for at, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]


def hit(places: Sequence[Place], at: int, window: int | None, covers: Sequence[int] = ()) -> SourceHit:
    place = places[at]
    around = None if window is None else [*places[max(0, at - window) : at + window + 1]]
    ids = [places[each].source_id for each in covers or (at,)]
    chunk = MatchedChunk(text=place.full_text, start=place.start, end=place.end, source_ids=ids)
    return make_hit(place, chunk=chunk, context=around)


def read(windows: Sequence[ContextWindow]) -> list[list[str]]:
    return [window.source_ids for window in windows]


@dataclass
class Asked:
    texts: dict[str, str]
    places: dict[str, Place]
    hits: list[SourceHit]


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    documents = [document(texts, f"d{n}") for n, texts in enumerate(draw(DOCUMENTS))]
    window = draw(st.integers(0, 4))
    every = [(places, at) for places in documents for at in range(len(places))]
    chosen = draw(st.lists(st.sampled_from(every), max_size=6))
    return Asked(
        texts={places[0].document_id: "".join(each.full_text for each in places) for places in documents},
        places={place.source_id: place for places in documents for place in places},
        hits=[hit(places, at, window) for places, at in chosen],
    )


@given(asked(), st.none() | st.integers(1, 80))
def test_windows_are_contiguous_without_repetition(found: Asked, budget: int | None) -> None:
    windows, _ = merge_windows(found.hits, tokens_of, budget)
    for window in windows:
        assert window.text == found.texts[window.document_id][window.start : window.end]
        assert window.text == "".join(found.places[each].full_text for each in window.source_ids)
        assert {found.places[each].document_id for each in window.source_ids} == {window.document_id}
        assert window.heading == found.places[window.source_ids[0]].heading
    every = [each for window in windows for each in window.source_ids]
    assert len(every) == len({*every})
    for one in windows:
        for other in windows:
            assert one is other or one.document_id != other.document_id or one.end != other.start


@given(asked(), st.none() | st.integers(1, 80))
def test_windows_are_ordered_by_their_best_hit(found: Asked, budget: int | None) -> None:
    windows, left_out = merge_windows(found.hits, tokens_of, budget)
    ranks = {identity: rank for rank, identity in reversed([*enumerate(e.source_id for e in found.hits)])}
    named = [each for window in windows for each in window.hits]
    assert left_out == len({*ranks} - {*named})
    for window in windows:
        assert {*window.hits} == {*window.source_ids} & {*ranks}
        assert window.hits == sorted(window.hits, key=lambda each: ranks[each])
    best = [ranks[window.hits[0]] for window in windows]
    assert best == sorted(best)


@given(asked(), st.integers(1, 80))
def test_windows_use_the_budget_completely(found: Asked, budget: int) -> None:
    windows, _ = merge_windows(found.hits, tokens_of, budget)
    used = sum(window.tokens for window in windows)
    assert used == sum(len(window.text) for window in windows) <= budget
    taken = {each for window in windows for each in window.source_ids}
    for each in found.hits:
        if each.source_id not in taken:
            assert len(each.full_text) > budget - used
            continue
        around = [place.source_id for place in each.context or ()]
        at = around.index(each.source_id)
        for side in (around[:at][::-1], around[at + 1 :]):
            first = next((identity for identity in side if identity not in taken), None)
            assert first is None or len(found.places[first].full_text) > budget - used


def test_hits_precede_neighbours_by_distance() -> None:
    places = document(["a"] * 20)
    hits = [hit(places, 4, 3), hit(places, 14, 3)]
    assert read(merge_windows(hits, tokens_of, 1)[0]) == [["d-4"]]
    assert read(merge_windows(hits, tokens_of, 2)[0]) == [["d-4"], ["d-14"]]
    assert read(merge_windows(hits, tokens_of, 3)[0]) == [["d-3", "d-4"], ["d-14"]]
    assert read(merge_windows(hits, tokens_of, 7)[0]) == [
        ["d-2", "d-3", "d-4", "d-5"],
        ["d-13", "d-14", "d-15"],
    ]


def test_chunk_coverage_precedes_neighbours() -> None:
    places = document(["a"] * 20)
    hits = [hit(places, 4, 3, covers=[4, 5, 6]), hit(places, 14, 3)]
    assert read(merge_windows(hits, tokens_of, 4)[0]) == [["d-4", "d-5", "d-6"], ["d-14"]]


@pytest.mark.parametrize("other", [{"document_id": "e"}, {"start": 9, "end": 10}, {"paragraph": 2}])
def test_only_adjacent_paragraphs_form_a_window(other: dict[str, Any]) -> None:
    one, two = document(["a", "b"])
    hits = [hit([one], 0, None), hit([two.model_copy(update=other)], 0, None)]
    assert read(merge_windows(hits, tokens_of, None)[0]) == [["d-0"], ["d-1"]]


@given(st.lists(WORDS, min_size=1, max_size=9), st.integers(0, 8), st.integers(1, 60))
def test_trimmed_window_keeps_nearest_sources_without_gaps(texts: list[str], at: int, budget: int) -> None:
    places = document(texts)
    own = places[min(at, len(places) - 1)]
    kept = fit_to_budget(
        SourceContext(source_id=own.source_id, window_size=9, sources=places), tokens_of, budget
    )
    assert kept.tokens == sum(len(place.full_text) for place in kept.sources) <= budget
    assert kept.left_out == len(places) - len(kept.sources)
    assert bool(kept.sources) == (len(own.full_text) <= budget) == (not kept.degraded)
    numbers = [place.paragraph for place in kept.sources]
    assert numbers == [*range(numbers[0], numbers[-1] + 1)] if numbers else True
    if kept.sources:
        assert own in kept.sources
        (whole,), _ = merge_windows([hit(places, own.paragraph, 9)], tokens_of, budget)
        assert [place.source_id for place in kept.sources] == whole.source_ids


def test_source_beyond_the_budget_is_reported() -> None:
    context = SourceContext(source_id="d-0", window_size=1, sources=document(["a" * 9, "b"]))
    kept = fit_to_budget(context, tokens_of, 5)
    assert (kept.sources, kept.left_out) == ([], 2)
    assert [each.effect for each in kept.degraded] == [
        "the source has 9 tokens, so no result fits into 5. Raise token_budget"
    ]


def search(**asked: Any) -> SourceSearch:
    return SourceSearch.model_validate({"query_text": "words", **asked})


def page(*, concepts_alone: bool = False, **asked: Any) -> HitPage:
    return read_page(search(**asked), concepts_alone=concepts_alone)


@given(st.lists(st.text(max_size=40), unique=True, max_size=60), st.text(max_size=40))
def test_cursor_recognizes_returned_hits(identities: list[str], other: str) -> None:
    first, rest = identities[:20], identities[20:]
    second = page(cursor=page().build_next_cursor(first))
    third = page(cursor=second.build_next_cursor(rest))
    assert all(second.has_returned(each) for each in first)
    assert not any(second.has_returned(each) for each in rest)
    assert all(third.has_returned(each) for each in identities)
    assert third.has_returned(other) == (other in identities)


@pytest.mark.parametrize("other", [{"limit": 9}, {"query_text": "word"}, {"ontology": "a"}, {"rerank": True}])
def test_cursor_of_another_search_is_rejected(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="cursor: belongs to another request"):
        page(**other, cursor=page().build_next_cursor(["a"]))


@given(st.data())
def test_changed_cursor_is_rejected(data: st.DataObject) -> None:
    cursor = page().build_next_cursor(["a", "b"])
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABCDwxyz0189-_ é=").filter(lambda each: each != cursor[at]))
    with pytest.raises(InvalidInput, match="cursor: invalid or changed"):
        page(cursor=cursor[:at] + other + cursor[at + 1 :])


def test_the_deepest_page_has_the_thousandth_hit() -> None:
    deepest = page(cursor=page().build_next_cursor(map(str, range(MAX_PAGED_HITS - 10))))
    cursor = deepest.build_next_cursor(map(str, range(2000, 2010)))
    assert len(cursor) <= MAX_CURSOR_CHARACTERS
    with pytest.raises(InvalidInput, match="cursor: 1,000 hits were returned, and the maximum is 1,000"):
        page(cursor=cursor)


TEXT = st.text("ab .,\n语é", max_size=20)
PARAGRAPH = (
    "The lease of a job is renewed while its worker lives. When no heartbeat has come for a minute, another "
    "worker takes the job over, and the number of the owner is raised, so that whatever the first one still "
    "writes is refused."
)
RECORD = (
    "Winner {}: scoring round, {} and {} advance to the runoff with {} and {} stars each, as was foreseen."
)


@given(st.lists(TEXT, max_size=12))
def test_each_text_is_in_one_similar_group(texts: list[str]) -> None:
    groups = group_near_duplicates(texts)
    assert sorted(index for group in groups for index in group) == [*range(len(texts))]
    for group in groups:
        assert group == sorted(group)
        for index in group[1:]:
            assert overlap(texts[group[0]], texts[index]) >= MIN_OVERLAP
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    for one, other in combinations([group[0] for group in groups], 2):
        assert overlap(texts[one], texts[other]) < MIN_OVERLAP


@pytest.mark.parametrize(
    "copy",
    [
        PARAGRAPH.upper(),
        PARAGRAPH.replace(" ", "\n  "),
        PARAGRAPH.replace(".", "").replace(",", ";"),
        f"**{PARAGRAPH}**",
        PARAGRAPH.replace("a minute", "a second"),
        f"Leases. {PARAGRAPH}",
        PARAGRAPH + " Nothing is lost.",
        "\ufb01" + PARAGRAPH[1:],  # a ligature for one letter of forty
    ],
)
def test_slightly_changed_copy_is_a_near_duplicate(copy: str) -> None:
    assert group_near_duplicates([PARAGRAPH, copy]) == [[0, 1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RECORD.format(2, "Ann", "Bo", 249, 239), RECORD.format(3, "Bo", "Cy", 239, 191)),
        ("Revenue of 2013 was 5 million dollars.", "Revenue of 2014 was 6 million dollars."),
        (PARAGRAPH, f"{PARAGRAPH} {PARAGRAPH.replace('job', 'folder').replace('worker', 'scan')}"),
        ("a b c", "c b a"),
        ("---", "==="),
        ("", "x"),
        ("我爱北京天安门的早晨", "我爱上海外滩的夜晚啊"),
    ],
)
def test_different_text_is_not_a_near_duplicate(one: str, other: str) -> None:
    assert group_near_duplicates([one, other]) == [[0], [1]]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    text = "心跳停止一分钟后，另一个工作进程接管该任务，并提高所有者编号，这样第一个进程写入的内容会被拒绝。"
    assert group_near_duplicates([text, text.replace("，", " ") + "好"]) == [[0, 1]]


def test_first_text_leads_and_groups_do_not_chain() -> None:
    words = [f"w{n}" for n in range(60)]
    near = [*words[:58], "y", "z"]
    far = ["a", "b", "c", *near[3:]]
    texts = [" ".join(each) for each in (words, near, far)]
    assert overlap(texts[0], texts[1]) >= MIN_OVERLAP <= overlap(texts[1], texts[2])
    assert overlap(texts[0], texts[2]) < MIN_OVERLAP
    assert group_near_duplicates(texts) == [[0, 1], [2]]
    assert group_near_duplicates([texts[1], texts[0], texts[2]]) == [[0, 1, 2]]
