from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.text.contexts import MAX_LINE_LENGTH, contextual, template

NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=150)


def test_title_path_date_and_author() -> None:
    metadata = {"Date": "2024-05-01", "author": "Ada Lovelace", "tags": "x", "stars": 5}
    assert (
        template("Handbook", ("Handbook", "Setup", "Linux"), metadata)
        == "Handbook > Setup > Linux (2024-05-01, Ada Lovelace)"
    )


def test_nothing_known_is_nothing_said() -> None:
    assert template("", (), {}) == ""
    assert template("", (), {"author": None, "date": ""}) == ""


def test_only_a_date() -> None:
    assert template("", (), {"created": "2020"}) == "2020"


def test_headings_that_the_text_begins_with_are_not_repeated() -> None:
    text = "# Handbook\n\n## `Setup`\n\nInstall it."
    assert template("Handbook", ("Handbook", "Setup"), {}, text) == ""
    assert template("Handbook", ("Handbook", "Setup"), {}, "Install it.") == "Handbook > Setup"
    assert template("Book", ("Part", "Setup"), {}, "Setup\n=====\n\nInstall it.") == "Book > Part"


def test_a_long_path_loses_its_middle() -> None:
    path = [f"{name * 60}" for name in "abcdefgh"]
    line = template("Title", path, {})
    assert len(line) <= MAX_LINE_LENGTH
    assert line.startswith("Title > … > ")
    assert line.endswith("h" * 60)


def test_two_long_names_are_shortened() -> None:
    line = template("t" * 190, ("u" * 190,), {"date": "2024"})
    assert len(line) <= MAX_LINE_LENGTH
    assert "…" in line
    assert line.endswith("(2024)")


@given(title=NAME, heading=st.lists(NAME, max_size=8), author=NAME, text=NAME)
def test_always_one_short_line(title: str, heading: list[str], author: str, text: str) -> None:
    line = template(title, heading, {"author": author, "date": 5}, text)
    assert len(line) <= MAX_LINE_LENGTH
    assert len(line.splitlines()) <= 1
    assert line == line.strip()


def test_context_and_text_are_joined_by_a_blank_line() -> None:
    assert contextual("A > B", "text") == "A > B\n\ntext"
    assert contextual("", "text") == "text"
