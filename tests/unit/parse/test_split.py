from __future__ import annotations

import pytest

from kg_api.schemas.documents import Block, ParsedDocument, SourceSpan
from kg_api.text.cutting import words
from kg_api.text.sources import split
from tests.unit.parse.shapes import many, sources


@pytest.mark.parametrize("text", ["", " \n\n\t", "\u200b\ufeff\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst"])
def test_a_blank_document_has_no_sources(text: str, name: str) -> None:
    assert sources(text, name) == []


def test_a_heading_goes_with_what_follows_it() -> None:
    text = f"# A\n\n## B\n\n{many(50)}\n\n{many(60)}\n\n# C\n\nshort\n"
    assert sources(text, "a.md") == [
        ("A > B", f"# A\n\n## B\n\n{many(50)}"),
        ("A > B", many(60)),
        ("C", "# C\n\nshort"),
    ]


def test_a_heading_with_nothing_below_goes_with_the_next() -> None:
    assert sources("# A\n\n# B\n\ntext", "a.md") == [("B", "# A\n\n# B\n\ntext")]


def test_headings_at_the_end_go_with_what_is_before() -> None:
    assert sources("# A\n\ntext\n\n# B\n\n## C", "a.md") == [("A", "# A\n\ntext\n\n# B\n\n## C")]


def test_a_document_of_headings_alone_has_a_source() -> None:
    assert sources("# A\n\n## B", "a.md") == [("A > B", "# A\n\n## B")]


def test_headings_without_end_are_kept_in_bounds() -> None:
    found = sources("\n".join(f"# Heading {i}" for i in range(500)), "a.md")
    assert len(found) > 5
    assert max(words(text) for _, text in found) <= 250
    assert found[-1][0] == "Heading 499"


def test_text_before_the_first_heading_has_no_path() -> None:
    assert sources("before\n\n# A\n\ntext", "a.md") == [("", "before"), ("A", "# A\n\ntext")]


def test_a_paragraph_stays_alone_and_small_ones_are_joined() -> None:
    text = f"small\n\n{many(40)}\n\n{many(40)}\n\ntiny\n\n{many(99)}\n\ntail"
    assert [text for _, text in sources(text, "a.txt")] == [
        f"small\n\n{many(40)}",
        f"{many(40)}\n\ntiny",
        f"{many(99)}\n\ntail",
    ]


def test_list_items_are_joined_to_about_a_hundred_words() -> None:
    text = "\n".join(f"- {many(29)}" for _ in range(10))
    assert [words(text) for _, text in sources(text, "a.md")] == [120, 120, 60]


def test_nothing_is_joined_across_a_heading() -> None:
    text = "\n\n".join(f"## H{i}\n\nfew words" for i in range(5))
    assert [path for path, _ in sources(text, "a.md")] == [f"H{i}" for i in range(5)]


def test_what_a_colon_announces_follows_it() -> None:
    code = "```\n" + "x = 1\n" * 50 + "```"
    text = f"{many(95)}\n\nFor example:\n\n{code}\n\n{many(50)}"
    assert [text for _, text in sources(text, "a.md")] == [
        many(95),
        f"For example:\n\n{code}",
        many(50),
    ]


def test_code_stays_with_the_text_before_it() -> None:
    text = f"{many(120)}\n\n    code here\n\n{many(60)}"
    assert len(sources(text, "a.md")) == 2
    assert sources(text, "a.md")[0][1].endswith("code here")


def test_code_is_whole_up_to_a_larger_limit() -> None:
    whole = "```\n" + f"{many(9)}\n" * 40 + "```"
    longer = "```\n" + f"{many(9)}\n" * 60 + "```"
    assert [text for _, text in sources(whole, "a.md")] == [whole]
    parts = [text for _, text in sources(longer, "a.md")]
    assert len(parts) == 3
    assert all(words(part) <= 200 for part in parts)


def test_a_long_paragraph_is_split_at_sentences() -> None:
    text = "This sentence has got exactly eight words today. " * 40
    parts = [text for _, text in sources(text, "a.txt")]
    assert [words(part) for part in parts] == [160, 160]
    assert all(part.endswith(".") for part in parts)


def test_chinese_is_split_by_its_characters() -> None:
    parts = [text for _, text in sources("今天的天气很好，我们去公园散步。" * 60, "a.txt")]
    assert len(parts) == 3
    assert all(part.endswith("。") and len(part) <= 400 for part in parts)


def test_spans_tile_with_the_blanks_behind_and_the_first_before() -> None:
    text = "\n\n  one.\n \n# A\n\n two \n\n"
    document = ParsedDocument(
        text,
        "t",
        "markdown",
        (Block("paragraph", 4, 9), Block("heading", 11, 15, 1, "A"), Block("paragraph", 17, 21)),
    )
    assert split(document) == [SourceSpan(0, 11, ()), SourceSpan(11, len(text), ("A",))]


def test_text_that_no_block_covers_is_kept() -> None:
    text = "lost words\n\nfound\n\nlost again"
    document = ParsedDocument(text, "t", "text", (Block("paragraph", 12, 17),))
    assert split(document) == [SourceSpan(0, len(text), ())]
    assert split(ParsedDocument(text, "t", "text", ())) == [SourceSpan(0, len(text), ())]


def test_a_piece_of_invisible_characters_is_no_source() -> None:
    assert len(sources("word " + "\u200b" * 50_000, "a.txt")) == 1


def test_an_edit_in_one_section_leaves_the_others_alone() -> None:
    section = "\n\n".join([many(30), many(70), "- a", many(45)])
    before = f"# A\n\n{section}\n\n# B\n\n{section}\n\n# C\n\n{section}"
    after = before.replace("# B\n\n", f"# B\n\n{many(90, 'new')}\n\n")
    old, new = sources(before, "a.md"), sources(after, "a.md")
    assert [source for source in old if source[0] != "B"] == [source for source in new if source[0] != "B"]
