"""What a language model is shown of a document."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kg_api.providers.chat import BEGINNING, ENOUGH, MARGIN, MAX_BYTES, WHOLE, HeadedParagraph, document_parts


def paragraphs(count: int, sections: int = 1, size: int = 500) -> list[HeadedParagraph]:
    return [
        HeadedParagraph(f"{number:05} {'words ' * (size // 6)}\n\n", ("Top", f"Section {number // sections}"))
        for number in range(count)
    ]


def test_a_short_document_is_shown_as_a_whole() -> None:
    given_ = paragraphs(10)
    parts, numbers = document_parts("Title", {"date": "2024-05-01", "empty": "", "long": "x" * 500}, given_)
    assert numbers == [0] * 10
    assert [part.text for part in parts] == ["".join(each.text for each in given_)]
    assert parts[0].data()["metadata"] == {"date": "2024-05-01"}
    assert "document_begins" not in parts[0].data()


def test_a_long_one_is_shown_in_stretches_with_its_beginning() -> None:
    given_ = paragraphs(200, sections=5)
    text = "".join(each.text for each in given_)
    parts, numbers = document_parts("Title", {}, given_)
    assert len(parts) > 5
    assert parts[0].beginning == ""
    assert all(part.beginning == text[:BEGINNING] for part in parts[1:])
    for number, paragraph in zip(numbers, given_, strict=True):
        assert paragraph.text in parts[number].text
    borders = [at for at in range(1, 200) if numbers[at] != numbers[at - 1]]
    assert all(at % 5 == 0 for at in borders), "a stretch ends with its section"


def test_an_edit_leaves_what_is_shown_elsewhere() -> None:
    given_ = paragraphs(300, sections=5)
    before, _ = document_parts("Title", {}, given_)
    edited = [*given_[:52], HeadedParagraph("new\n\n", given_[52].headings), *given_[52:]]
    after, _ = document_parts("Title", {}, edited)
    assert len(set(after) - set(before)) <= 3


LENGTHS = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 3)), max_size=40)


@given(LENGTHS, st.sampled_from("aж語😀"))
def test_parts_are_bounded_and_have_every_paragraph(lengths: list[tuple[int, int]], letter: str) -> None:
    given_ = [HeadedParagraph(letter * length, (str(section),)) for length, section in lengths]
    text = "".join(each.text for each in given_)
    parts, numbers = document_parts("Title", {}, given_)
    assert len(numbers) == len(given_)
    assert sorted(set(numbers)) == list(range(len(parts))) or not given_
    assert numbers == sorted(numbers)
    largest = max((len(each.text.encode()) for each in given_), default=0)
    for part in parts:
        assert part.text in text
        most = WHOLE if len(parts) == 1 else max(MAX_BYTES, largest) + 2 * MARGIN * 4
        assert len(part.text.encode()) <= max(most, largest)
    if len(parts) > 1:
        shares = [
            sum(len(each.text.encode()) for each, number in zip(given_, numbers, strict=True) if number == at)
            for at in range(len(parts))
        ]
        assert all(share + next_ > ENOUGH for share, next_ in pairwise(shares))
