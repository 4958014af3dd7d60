import pytest
from pydantic import ValidationError

from kg_api.schemas.embedding import (
    Chunking,
    EmbeddingConfig,
    EmbeddingConfigChange,
    fill_template,
    select_context_fields,
)
from kg_api.text.contexts import MAX_LINE_LENGTH, fill_own_template, fill_usual_template


def test_title_path_date_and_author() -> None:
    metadata = {"Date": "2024-05-01", "author": "Ada Lovelace", "tags": "x", "stars": 5}
    assert (
        fill_usual_template("Handbook", ("Handbook", "Setup", "Linux"), metadata)
        == "Handbook > Setup > Linux (2024-05-01, Ada Lovelace)"
    )


LINE = "{date}[, {author}]: {title} > {heading}"


def test_template_fills_fields_and_drops_optional_parts() -> None:
    known = {"date": "2024-05-01", "author": "Ada"}
    line = fill_own_template(LINE, "Handbook", ("Handbook", "Setup", "Linux"), known)
    assert line == "2024-05-01, Ada: Handbook > Setup > Linux"
    assert fill_own_template("{title}[ ({date})]", "Handbook", (), {}) == "Handbook"
    assert fill_own_template("Of the handbook[ of {date}]", "Handbook", (), {}) == ""
    assert (
        fill_own_template("{title}: {author}", "{author} [x]", (), {"author": "Ada"}) == "{author} [x]: Ada"
    )


@pytest.mark.parametrize(
    ("template", "missing", "line"),
    [
        ("{title} > {heading}[ ({date})]", {"heading"}, "Handbook (2024-05-01)"),
        ("{title} > {heading}[ ({date})]", {"heading", "date"}, "Handbook"),
        ("{title} > {heading} ({date})", {"date"}, "Handbook > Setup"),
        ("{title} > {heading} ({date}, {author})", {"author"}, "Handbook > Setup (2024-05-01)"),
        ("{heading} | {title} | {author}", {"heading"}, "Handbook | Ada"),
        ("{title} / {heading} / {author}", {"author", "heading"}, "Handbook"),
        ("{date}[, {author}]: {title}", {"date", "author"}, "Handbook"),
        ("{title}: {heading}", {"title"}, "Setup"),
    ],
)
def test_punctuation_before_an_empty_field_is_dropped(template: str, missing: set[str], line: str) -> None:
    values = {"title": "Handbook", "heading": "Setup", "date": "2024-05-01", "author": "Ada"}
    assert fill_template(template, {**values, **dict.fromkeys(missing, "")}) == line


def test_context_is_short_and_repeats_no_heading() -> None:
    title, heading = "T" * 150, "H" * (MAX_LINE_LENGTH - 153)
    assert fill_usual_template(title, (heading,), {}) == f"{title} > {heading}"
    assert len(fill_usual_template(title, (heading,), {"author": "Ada"})) <= MAX_LINE_LENGTH
    assert len(fill_own_template(LINE, "T" * 900, ["h" * 900] * 3, {"author": "a" * 900})) <= MAX_LINE_LENGTH
    assert fill_usual_template("T", ("H" * 200, "I" * 200, "J" * 200, "K"), {}) == f"T > … > {'J' * 200} > K"
    assert fill_usual_template("T", ("H",), {"author": ["Ada", "Bob"]}) == "T > H (Ada, Bob)"
    assert fill_own_template("{heading}", "Book", ("Part", "Setup"), {}, "## Setup\n\nInstall it.") == "Part"


@pytest.mark.parametrize("wrong", ["no field", "{name}", "{title", "title}", "[{title}", "[[{title}]]", "{}"])
def test_invalid_template_is_rejected(wrong: str) -> None:
    with pytest.raises(ValidationError, match="context_template"):
        Chunking(context="template", context_template=wrong)


def test_template_requires_template_context() -> None:
    with pytest.raises(ValidationError, match="context template"):
        Chunking(context_template="{title}")
    present = EmbeddingConfig(context="template", context_template="{title}")
    assert EmbeddingConfigChange(context="late_template").apply(present).context_template == "{title}"
    assert EmbeddingConfigChange(context="none").apply(present).context_template is None
    assert EmbeddingConfigChange(context_template=None).apply(present).context_template is None


def test_context_fields_follow_the_context_kind() -> None:
    metadata = {"author": "Ada", "shelf": 3}
    assert select_context_fields("none", None, "T", metadata) == ()
    assert select_context_fields("template", None, "T", metadata) == ("T", "", "Ada")
    assert select_context_fields("late_template", "{author} {heading}", "T", metadata) == ("Ada",)
    assert select_context_fields("llm", None, "T", metadata) == ("T", metadata)
