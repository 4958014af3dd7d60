import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.answers import AugmentRequest, Threshold
from kg_api.schemas.search import Degradation, LeftOut, MatchedChunk, SourceHit, SourceHits, SourceSearch
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS
from kg_api.search import augment
from kg_api.search.augment import (
    MAX_PIECES,
    MEASURED,
    Asking,
    AugmentScope,
    MergedPassage,
    PackedContext,
    PassageSelection,
    Piece,
    PieceHit,
    PieceResults,
    Pieces,
    build_token_counter,
    choose_threshold,
    consolidate_request,
    cut,
    merge_degradations,
    render_context,
    select,
    split_into_pieces,
)
from kg_api.text.markdown import parse_blocks
from tests.support.hits import make_hit, make_place
from tests.unit.search.found import SPACE

ALL = AugmentRequest(text="all", per_piece=50, per_document=None, limit=100)


def hit(source: str, similarity: float | None, document: str | None = None, **more: Any) -> SourceHit:
    text, name = more.pop("text", f"{source} says something of its own"), document or source
    place = make_place(source, text, document=name, document_id=name, heading=[])
    return make_hit(place, similarity, **{"space": None if similarity is None else "default", **more})


def found(piece: int, *hits: SourceHit) -> list[PieceHit]:
    return [PieceHit(piece, rank, each) for rank, each in enumerate(hits, start=1)]


def chosen(hits: list[PieceHit], **choices: Any) -> PassageSelection:
    return select(hits, ALL.model_copy(update=choices))


def ids(selection: PassageSelection) -> list[str]:
    return [passage.nearest.hit.source_id for passage in selection.passages]


def test_nearest_piece_counts_and_others_are_listed() -> None:
    hits = [*found(1, hit("a", 0.8), hit("b", 0.7)), *found(2, hit("b", 0.9), hit("c", 0.6))]
    selection = chosen(hits)
    assert ids(selection) == ["b", "a", "c"]
    assert [each.piece for each in selection.passages[0].found] == [2, 1]
    assert selection.passages[0].rank == 1
    assert (selection.order, +selection.left_out) == ("similarity", Counter(found_again=1))


def test_ranks_decide_across_spaces() -> None:
    hits = [*found(1, hit("a", 0.5), hit("b", 0.9)), *found(2, hit("c", 0.6, space="large"))]
    assert (ids(chosen(hits)), chosen(hits).order) == (["c", "a", "b"], "rank")
    assert ids(chosen(hits[:2])) == ["b", "a"]
    assert ids(chosen(hits[:2], mmr_lambda=0.5)) == ["a", "b"]
    assert chosen(found(1, hit("a", None))).order == "rank"


def test_children_of_a_parent_are_one_passage() -> None:
    one, other = (MatchedChunk(text="the larger part", start=at, end=20) for at in (5, 6))
    hits = found(1, hit("a", 0.9, "d", parent=one), hit("b", 0.8, "d", parent=one))
    hits += found(2, hit("c", 0.7, "d", parent=other), hit("e", 0.6, parent=one))
    assert ids(chosen(hits)) == ["a", "c", "e"]
    assert render_context(chosen(hits[:2]).passages, len, None).records[0].pieces == [1]


def test_each_document_contributes_its_best_passages() -> None:
    hits = found(1, hit("a", 0.9, "d"), hit("b", 0.8, "d"), hit("c", 0.7, "e"), hit("f", 0.6, "d"))
    selection = chosen(hits, per_document=1)
    assert (ids(selection), selection.left_out["beyond_per_document"]) == (["a", "c"], 2)
    assert ids(chosen(hits, per_document=2)) == ["a", "b", "c"]


def test_near_duplicates_are_one_and_named() -> None:
    text = "the lease of a worker is renewed every ten seconds while it is alive"
    hits = found(1, hit("a", 0.9, text=text), hit("b", 0.8, text="other"), hit("c", 0.7, text=text.upper()))
    selection = chosen(hits, deduplicate=True)
    assert ids(selection) == ["a", "b"]
    assert (selection.passages[0].duplicates, selection.left_out["duplicates"]) == (("c",), 1)
    assert ids(chosen(hits)) == ["a", "b", "c"]


HITS = st.builds(
    hit,
    st.sampled_from("abcdefgh"),
    st.none() | st.sampled_from([-0.5, 0.0, 0.5, 0.69, 0.7, 0.9]),
    st.sampled_from("xyz"),
    text=st.sampled_from(["one two three four", "One, two three four!", "else"]),
)
PIECES = st.lists(st.lists(HITS, max_size=6, unique_by=lambda each: each.source_id), max_size=5).map(
    lambda pieces: [each for n, hits in enumerate(pieces, start=1) for each in found(n, *hits)]
)
CHOICES = st.builds(
    AugmentRequest,
    text=st.just("all"),
    per_piece=st.integers(1, 4),
    per_document=st.none() | st.integers(1, 3),
    limit=st.integers(1, 6),
    deduplicate=st.booleans(),
    mmr_lambda=st.none() | st.just(0.5),
)


@given(PIECES, CHOICES)
def test_every_hit_is_selected_or_counted(hits: list[PieceHit], choices: AugmentRequest) -> None:
    selection = select(hits, choices)
    assert sum(selection.left_out.values()) + len(selection.passages) == len(hits)
    assert all(count >= 0 for count in selection.left_out.values())


@given(PIECES, CHOICES)
def test_the_choices_hold(hits: list[PieceHit], choices: AugmentRequest) -> None:
    selection = select(hits, choices)
    assert len(selection.passages) <= choices.limit
    documents = Counter(passage.nearest.hit.document_id for passage in selection.passages)
    assert all(count <= (choices.per_document or 100) for count in documents.values())
    assert len(set(ids(selection))) == len(selection.passages)
    for passage in selection.passages:
        similarity = passage.nearest.hit.similarity
        assert similarity == max(
            (each.hit.similarity for each in passage.found if each.hit.similarity is not None), default=None
        )
    if selection.order == "similarity":
        near = [passage.nearest.hit.similarity or 0.0 for passage in selection.passages]
        assert near == sorted(near, reverse=True)


@given(PIECES, CHOICES, st.randoms())
def test_selection_ignores_completion_order_of_pieces(
    hits: list[PieceHit], choices: AugmentRequest, dice: Any
) -> None:
    shuffled = list(hits)
    dice.shuffle(shuffled)
    assert ids(select(shuffled, choices)) == ids(select(hits, choices))


COUNTER = build_token_counter(DeterministicEmbedder(max_tokens=100))
LONG = "\n\n".join(" ".join(f"word{n}" for _ in range(60)) + "." for n in range(20))


def request(**fields: Any) -> AugmentRequest:
    return AugmentRequest.model_validate({"text": LONG, **fields})


def test_short_text_is_one_query() -> None:
    assert len(split_into_pieces("a word or two", request(), COUNTER).pieces) == 1
    assert len(split_into_pieces(LONG, request(one_query_tokens=8000), COUNTER).pieces) == 1
    assert len(split_into_pieces("x" * 2 * MAX_QUERY_CHARACTERS, request(), COUNTER).pieces) > 1
    short = " ".join(f"Sentence {n} says this." for n in range(20))
    asked = request(one_query_tokens=10, chunk_tokens=64, overlap_tokens=0)
    assert len(split_into_pieces(short, asked, COUNTER).pieces) == 2


def test_piece_leaves_room_for_the_query_prefix() -> None:
    embedder: Any = DeterministicEmbedder(max_tokens=100)
    embedder._identity = replace(embedder.identity, query_prefix="what is asked")
    assert build_token_counter(embedder).most == 97


def test_without_model_tokens_are_estimated() -> None:
    estimate = build_token_counter(None)
    made = split_into_pieces(LONG, request(chunk_tokens=300, overlap_tokens=0), estimate)
    assert (estimate.estimated, made.tokens, len(made.pieces)) == (True, 2400, 10)


def test_same_degradation_of_several_pieces_is_one() -> None:
    notes = [(piece, Degradation(part="vectors", effect=f"{piece} of 9")) for piece in (1, 2, 2)]
    told = merge_degradations([*notes, (1, Degradation(part="query", effect="1 of 9"))])
    assert [(each.part, each.effect, each.pieces) for each in told] == [
        ("vectors", "1 of 9", [1, 2]),
        ("query", "1 of 9", [1]),
    ]


def test_pieces_fit_the_smallest_model() -> None:
    small, large = (
        replace(SPACE, slug=slug, identity=replace(SPACE.identity, max_tokens=most))
        for slug, most in (("small", 9), ("large", 99))
    )
    where = AugmentScope({"a": large, "b": small, "c": large}, large, {})
    assert [space.slug for space in where.spaces] == ["small", "large"]


def test_long_text_is_sampled_evenly_and_counted() -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(200))
    made = split_into_pieces(text, request(overlap_tokens=0), COUNTER)
    assert (len(made.pieces), made.left_out) == (MAX_PIECES, 200 - MAX_PIECES)
    assert "Paragraph 0." in made.pieces[0].text
    assert "Paragraph 199." in made.pieces[-1].text


def test_whole_text_is_a_further_piece() -> None:
    *parts, whole = split_into_pieces(f" {LONG}\n", request(whole=True), COUNTER).pieces
    assert (whole.whole, whole.text, whole.number, whole.start) == (True, LONG, len(parts) + 1, 1)
    assert not any(part.whole for part in parts)
    short = " ".join(f"word{n}" for n in range(40))
    made = split_into_pieces(short, request(whole=True, one_query_tokens=10), COUNTER)
    assert [part.whole for part in made.pieces] == [False], "the only piece is the whole text"


def test_skipped_pieces_are_described() -> None:
    (told,) = augment._describe_skipped_pieces(Pieces([], 7, 0))
    assert told.effect == "the text has 71 pieces: 64 spread evenly were searched for"
    assert augment._describe_skipped_pieces(Pieces([], 0, 0)) == []


def answered(nearest: float | None, below: int = 0, without: int = 0, *hits: SourceHit) -> SourceHits:
    left_out = LeftOut(below_similarity=below, without_vector=without, nearest=nearest)
    return SourceHits.model_construct(sources=list(hits), left_out=left_out, degraded=[])


def test_missing_passages_are_explained_and_counted() -> None:
    bounds = {
        n: Threshold(space=n, min_similarity=least, source="model") for n, least in (("a", 0.7), ("b", 0.5))
    }
    bounds["c"] = Threshold(space="c", min_similarity=None, source="none")
    where = AugmentScope({}, SPACE, bounds)
    piece = Piece(1, "text", 0, 4, 1)
    asked = [
        PieceResults(piece, [answered(0.4, 2, 1), answered(None)]),
        PieceResults(piece, [answered(0.45, 3)]),
    ]
    nothing = chosen([])
    (told,) = augment._describe_nothing_near(asked, nothing, where)
    assert told.startswith(
        "no relevant result: the nearest passage has a similarity of 0.45, below 0.50 or 0.70."
    )
    assert augment._describe_nothing_near(asked, chosen(found(1, hit("a", 0.9))), where) == []
    assert augment._describe_nothing_near(asked[:0], nothing, where) == []
    counts = augment._count_pieces("text", Pieces([piece], 5, 9), asked, nothing, PackedContext("", 0, [], 3))
    assert (counts.searches, counts.candidates, counts.below_similarity, counts.without_vector) == (
        3,
        6,
        5,
        1,
    )
    assert (counts.pieces, counts.pieces_left_out, counts.tokens, counts.beyond_budget) == (1, 5, 9, 3)


def test_long_piece_is_searched_in_each_space() -> None:
    large = replace(SPACE, slug="large")
    searches = list[SourceSearch]()

    def search(asked: SourceSearch, _: object) -> SourceHits:
        searches.append(asked)
        return answered(None)

    def get_open(space: Any) -> Any:
        if space.slug == "large" and len(searches) > 1:
            raise InvalidInput("too long")
        return SimpleNamespace(embed_query=lambda text: [float(len(text)), 0.0])

    long = "word " * MAX_QUERY_CHARACTERS
    where = AugmentScope({"a": large, "b": SPACE, "c": large}, large, {})
    spaces: Any = SimpleNamespace(get_open=get_open)
    asking = Asking(request(ontology=["a", "b", "c"], per_piece=3), where, spaces, search)
    piece = Piece(1, long, 0, len(long), 9, whole=True)
    assert len(asking.ask(piece).answers) == 2
    assert [(each.space, each.ontology, each.query_vector) for each in searches] == [
        ("default", ["b"], [len(long), 0]),
        ("large", ["a", "c"], [len(long), 0]),
    ]
    assert {(len(each.query_text or ""), each.limit) for each in searches} == {(MAX_QUERY_CHARACTERS, 12)}
    failed = asking.ask(piece)
    assert (len(failed.answers), failed.degradations[0][1].part) == (1, "embedding")
    asking.ask(Piece(2, "short", 0, 5, 1))
    assert (searches[-1].query_vector, searches[-1].ontology) == (None, ["a", "b", "c"])


def test_conversation_is_joined_and_empty_text_rejected() -> None:
    talk = {"text": None, "messages": [{"author": "Ada", "text": "# Hi"}, {"author": "Bob", "text": " "}]}
    text, notes = consolidate_request(request(**talk))
    assert (text, len(notes)) == ("## Ada\n\n> # Hi\n\n", 1)
    for said in ("", " \n", "…!?—", "\u200b"):
        with pytest.raises(InvalidInput, match="no word"):
            consolidate_request(request(text=said))


@pytest.mark.parametrize(
    ("model", "fields", "expected"),
    [
        ("bge-small-en-v1.5", {}, (MEASURED["bge-small-en-v1.5"], "model")),
        ("unheard-of", {}, (0.7, "default")),
        ("bge-small-en-v1.5", {"min_similarity": 0.1}, (0.1, "request")),
        ("bge-small-en-v1.5", {"mode": "text"}, (None, "none")),
    ],
)
def test_the_threshold_belongs_to_the_model(model: str, fields: dict[str, Any], expected: object) -> None:
    told = choose_threshold("default", model, request(**fields))
    assert (told.min_similarity, told.source) == expected


def words(text: str) -> int:
    return len(re.findall(r"\w+", text))


TEXTS = st.lists(
    st.sampled_from(
        [
            "word ", "Sentence end. ", "\n\n", "\n", "# heading\n", "- item\n", "```\n", " ", "日本語。",
            "x" * 60,
        ]
    ),
    max_size=120,
).map("".join)  # fmt: skip


@given(TEXTS, st.integers(8, 60), st.integers(0, 30))
def test_pieces_cover_visible_text_in_order_within_size(text: str, most: int, overlap: int) -> None:
    overlap = min(overlap, most // 2)
    spans = cut(text, words, most, overlap)
    repeated = [text[start:end] for (_, end), (start, _) in pairwise(spans) if start < end]
    assert all(words(part) <= overlap for part in repeated)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert all(words(text[start:end]) <= most for start, end in spans)
    assert spans == sorted(set(spans))
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(at in covered or text[at].isspace() for at in range(len(text)))


HOSTILE = "# not a heading of the block\n\n```\nnever closed\n\n"


def context(*texts: str, budget: int | None = None) -> PackedContext:
    hits = [PieceHit(1, n, hit(f"s{n}", 0.9, text=text)) for n, text in enumerate(texts, start=1)]
    return render_context([MergedPassage((each,)) for each in hits], lambda text: len(text.split()), budget)


def test_passage_follows_its_heading_and_citation() -> None:
    told = context("one\ntwo\n\n")
    assert told.text == "### 1. notes / s1\n\n[s1#0-7], similarity 0.90\n\n> one\n> two\n\n"
    (record,) = told.records
    assert (record.citation, record.text, record.full_text) == ("s1#0-7", "one\ntwo", "one\ntwo\n\n")
    assert told.tokens == record.tokens == len(told.text.split())
    scanned = hit("a", None, page=3, ocr=True, ocr_confidence=0.5)
    told = render_context([MergedPassage((PieceHit(1, 1, scanned),))], len, None)
    assert "[a#0-27], page 3, OCR, confidence 0.50\n" in told.text


def test_no_passage_breaks_out_of_its_quotation() -> None:
    told = context(HOSTILE, "after")
    titles = [block.title for block in parse_blocks(told.text) if block.kind == "heading"]
    assert titles == ["1. notes / s1", "2. notes / s2"]


def test_passages_beyond_budget_are_skipped_and_counted() -> None:
    whole = context("one", "two " * 50, "three")
    told = context("one", "two " * 50, "three", budget=whole.tokens - 50)
    assert [record.text for record in told.records] == ["one", "three"]
    assert (told.left_out, whole.left_out) == (1, 0)
    assert told.tokens <= whole.tokens - 50
    assert "### 2. notes / s3" in told.text
    assert context("one", budget=1).text == ""
    assert context("one", budget=context("one").tokens).left_out == 0


@pytest.mark.parametrize("similarity", [None, 0.5])
def test_parent_text_is_used_if_available(similarity: float | None) -> None:
    parent = MatchedChunk(text="the larger part", start=5, end=20)
    passage = MergedPassage((PieceHit(1, 1, hit("a", similarity, parent=parent)),))
    (record,) = render_context([passage], len, None).records
    assert (record.text, record.citation) == ("the larger part", "a#5-20")
