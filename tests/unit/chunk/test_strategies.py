from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.schemas.embedding import Chunking
from kg_api.schemas.vocabulary import Strategy
from kg_api.text import semantic
from kg_api.text.borders import Paragraph
from kg_api.text.chunking import split_to_chunks
from tests.unit.chunk.shapes import chunked, document, sources


def texts(text: str, paragraphs: Sequence[Paragraph], **config: object) -> list[str]:
    found = chunked(text, paragraphs, Chunking.model_validate(config))
    return [text[span.start : span.end] for span in found]


def numbered(first: int, last: int) -> str:
    return " ".join(f"w{i}" for i in range(first, last + 1))


def laid_out(*parts: tuple[str, int]) -> tuple[str, list[Paragraph]]:
    return document([(heading, " ".join([heading.lower()] * size)) for heading, size in parts])


@pytest.mark.parametrize(
    ("last", "overlap", "expected"),
    [
        (25, 0, [(1, 10), (11, 20), (21, 25)]),
        (25, 3, [(1, 10), (8, 17), (15, 24), (22, 25)]),
        (17, 3, [(1, 10), (8, 17)]),
    ],
    ids=["exact", "overlapping", "without a last chunk that only repeats"],
)
def test_count_chunks_have_the_configured_words(
    last: int, overlap: int, expected: list[tuple[int, int]]
) -> None:
    found = texts(numbered(1, last), [], strategy="count", chunk_size=10, overlap=overlap)
    assert found == [numbered(*each) for each in expected]


@pytest.mark.parametrize(
    ("chunk_size", "expected"),
    [
        (9, ["One two three four. Five six seven eight.", "Nine ten eleven twelve thirteen. End."]),
        (7, ["One two three four five,", "six seven eight nine ten eleven."]),
    ],
    ids=["joined", "cut at a clause"],
)
def test_sentences_are_joined_and_only_long_ones_cut(chunk_size: int, expected: list[str]) -> None:
    text = " ".join(expected)
    assert texts(text, [Paragraph(0, len(text))], strategy="sentence", chunk_size=chunk_size) == expected


def test_groups_overlap_by_their_last_paragraph() -> None:
    text, paragraphs = laid_out(*[("A", 20)] * 4)
    found = texts(text, paragraphs, strategy="paragraph_group", chunk_size=50)
    assert [len(each.split()) for each in found] == [40, 40, 40]
    found = texts(text, paragraphs, strategy="paragraph_group", chunk_size=50, overlap=0)
    assert [len(each.split()) for each in found] == [40, 40]
    text, paragraphs = laid_out(("A", 10), ("A", 35), ("A", 40))
    found = texts(text, paragraphs, strategy="paragraph_group", chunk_size=50)
    assert [len(each.split()) for each in found] == [45, 40], "35 and 40 words do not fit into 60"


def test_a_group_never_joins_two_sections() -> None:
    text, paragraphs = laid_out(("A", 10), ("A", 10), ("B", 10), ("A", 10))
    a, b = "a " * 9 + "a", "b " * 9 + "b"
    assert texts(text, paragraphs, strategy="paragraph_group") == [f"{a}\n\n{a}", b, a]


def test_children_repeat_whole_words_inside_their_parent() -> None:
    text = " ".join(f"Sentence {i} says a thing." for i in range(60))
    chunking = Chunking(strategy="hierarchical", chunk_size=100, overlap=20, parent_size=500)
    found = chunked(text, [Paragraph(0, len(text))], chunking)
    parents = list(dict.fromkeys(span.parent for span in found))
    assert len(parents) >= 3
    beside = [(former, span) for former, span in pairwise(found) if former.parent == span.parent]
    assert beside
    for former, span in beside:
        assert 10 <= former.end - span.start <= 20
        assert text[span.start - 1] == " "
        assert text[former.end - 6 : former.end] == "thing."
    firsts = {span.parent: span.start for span in reversed(found)}
    assert all(parent and parent[0] == start for parent, start in firsts.items())


def by_topic(sentences: Sequence[str]) -> NDArray[np.float32]:
    topics = {"Cats": (1, 0, 0), "Rain": (0, 1, 0), "Jazz": (0, 0, 1)}
    return np.array([topics[sentence.split()[0]] for sentence in sentences], dtype=np.float32)


def test_semantic_chunks_end_at_topic_changes() -> None:
    topics = ("Cats", "Rain", "Jazz")
    text = " ".join(f"{topic} are what this sentence is about." for topic in topics for _ in range(6))
    chunking = Chunking(strategy="semantic", chunk_size=60)
    found = split_to_chunks(text, [Paragraph(0, len(text))], chunking, by_topic)
    assert [text[span.start : span.end].split()[0] for span in found] == ["Cats", "Rain", "Jazz"]
    assert [len(text[span.start : span.end].split(".")) - 1 for span in found] == [6, 6, 6]


def test_semantic_chunks_end_at_largest_topic_changes() -> None:
    angles = np.cumsum(np.radians([0, 3, 4, 80, 5, 6, 90, 7, 8]))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    text = " ".join(f"Sentence {n} {'says ' * 7}so." for n in range(len(angles)))
    chunking = Chunking(strategy="semantic", chunk_size=40)
    found = split_to_chunks(text, [Paragraph(0, len(text))], chunking, lambda _: vectors)
    assert [text[span.start : span.end].split()[1] for span in found] == ["0", "3", "6"]


def test_long_topic_is_cut_in_second_half() -> None:
    moves = np.array([0.9, 0.8, 0.1, 0.5, 0.3, 0.9], np.float32)
    assert semantic._find_farthest(moves, [10] * 7, 0, 5) == 4
    assert semantic._find_farthest(moves, [10] * 7, 0, 1) == 1
    assert semantic._find_farthest(moves, [10] * 7, 3, 6) == 6


def test_many_sentences_are_compared_part_by_part() -> None:
    asked: list[int] = []

    def counting(sentences: Sequence[str]) -> NDArray[np.float32]:
        asked.append(len(sentences))
        return by_topic(sentences)

    text = " ".join(["Cats sleep here all day long."] * 2600 + ["Rain falls here all day long."] * 2600)
    found = split_to_chunks(text, [Paragraph(0, len(text))], Chunking(strategy="semantic"), counting)
    assert len(asked) > 1
    assert max(asked) < 3000
    chunks = [text[span.start : span.end] for span in found]
    assert {("Cats" in each, "Rain" in each) for each in chunks} == {(True, False), (False, True)}


def test_semantic_strategy_requires_vectors() -> None:
    with pytest.raises(ValueError, match="sentence_vectors"):
        split_to_chunks("text", [Paragraph(0, 4)], Chunking(strategy="semantic"))


@pytest.mark.parametrize(
    "strategy", ["sentence", "paragraph", "count", "semantic", "paragraph_group", "hierarchical"]
)
@pytest.mark.parametrize("text", ["", " \n\n\t", "\u200b\ufeff\n"])
def test_invisible_text_has_no_chunks(strategy: Strategy, text: str) -> None:
    assert split_to_chunks(text, sources(text, "a.txt"), Chunking(strategy=strategy), by_topic) == []
    assert split_to_chunks(text, [Paragraph(0, len(text))], Chunking(strategy=strategy), by_topic) == []
