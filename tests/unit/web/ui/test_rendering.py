import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from kg_api.schemas.search import Ranks, SourceHit, WordMatch
from kg_api.web.page_mount import list_sentences
from kg_api.web.ui.markdown import TAGS, render_markdown
from kg_api.web.ui.rendering import (
    FOLDER,
    SHOWN_CHARACTERS,
    _templates,
    excerpt,
    reasons,
    sentence,
    split_by_marks,
)
from tests.support.hits import make_hit, make_place


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x1b", "\x9b", "\x07"])
def test_template_shows_reordering_and_control_characters(sign: str) -> None:
    page = _templates.from_string("<td>{{ name }}</td>").render(name=f"evil{sign}<b>txt.md")
    assert page == "<td>evil\ufffd&lt;b&gt;txt.md</td>"


def test_template_keeps_marks_of_arabic_and_hebrew() -> None:
    assert _templates.from_string("{{ name }}").render(name="\u200fשלום\n") == "\u200fשלום\n"


VENDOR = FOLDER / "vendor"
TOLD = json.loads((VENDOR / "packages.json").read_text(encoding="utf-8"))
LICENCES = {"0BSD", "MIT"}


def test_each_vendored_script_states_its_origin() -> None:
    assert {each.name for each in VENDOR.iterdir() if each.suffix in {".js", ".css"}} == TOLD.keys()


@pytest.mark.parametrize("name", TOLD)
def test_a_script_is_the_one_of_its_package(name: str) -> None:
    told = TOLD[name]
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == told["sha256"]
    assert told["licence"] in LICENCES
    assert (VENDOR / f"{Path(name).name.partition('.')[0]}.LICENSE").read_text(encoding="utf-8").strip()
    assert all(part.isdigit() for part in told["version"].split("."))


HOSTILE = st.lists(
    st.sampled_from(
        [
            *("<script>", "</p>", "<img src=x onerror=a>", "[a](javascript:b)", "![x](http://evil/?q=1)"),
            *("<http://evil>", "**", "_", "`", "```html\n", "\n", "\n\n", "# ", "> ", "- ", "1. ", "| a |"),
            *("| --- |", "&lt;", "[a]: http://evil", "<!-- -->", "word", " ", "\\", "\ue000", "~~"),
        ]
    ),
    max_size=30,
)


def render(text: str, form: str = "markdown", heading: tuple[str, ...] = ()) -> str:
    return str(render_markdown([(text, False)], form, heading))


@given(HOSTILE, st.integers(0, 60), st.integers(0, 60))
def test_any_text_becomes_allowed_tags_without_attributes(parts: list[str], start: int, length: int) -> None:
    text = "".join(parts)
    pieces = [(text[:start], False), (text[start : start + length], True), (text[start + length :], False)]
    html = str(render_markdown([each for each in pieces if each[0]], "markdown"))
    for each in fragment_fromstring(html, create_parent=True).iterdescendants():
        assert each.tag in {*TAGS, "mark"}
        assert set(each.attrib) <= {"start", "class"}
        assert each.get("class") in {None, "plain"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**three** `x`", "<p><strong>three</strong> <code>x</code></p>"),
        ("# Title", "<h3>Title</h3>"),
        ("[a](http://b)", "<p>[a](http://b)</p>"),
        ("![a](http://b)", "<p>![a](http://b)</p>"),
        ("<b>&lt;", "<p>&lt;b&gt;&amp;lt;</p>"),
        ("```python\na < b\n```", "<pre><code>a &lt; b\n</code></pre>"),
    ],
)
def test_markdown_is_rendered(text: str, shown: str) -> None:
    assert render(text).strip() == shown


@pytest.mark.parametrize("form", ["text", "rst", "org"])
def test_plain_formats_are_only_escaped(form: str) -> None:
    assert render("# a *b* <c>", form) == '<p class="plain"># a *b* &lt;c&gt;</p>'


def test_matches_are_marked_within_elements() -> None:
    html = str(render_markdown([("**", False), ("waggle** dance", True), (" here", False)], "markdown"))
    assert re.sub("</?mark>", "", html).strip() == "<p><strong>waggle</strong> dance here</p>"
    assert html.count("<mark>") == html.count("</mark>") == 2


def hit(shown: str, *matches: tuple[int, int], **ranks: int) -> SourceHit:
    marks = [WordMatch(start=start, end=end) for start, end in matches]
    return make_hit(make_place("s", shown), similarity=0.5, ranks=Ranks(**ranks), matches=marks)


@given(st.text(max_size=80), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=6))
def test_pieces_are_the_whole_text(text: str, matches: list[tuple[int, int]]) -> None:
    pieces = split_by_marks(text, [WordMatch(start=start, end=end) for start, end in matches])
    assert "".join(each.text for each in pieces) == text


def test_matches_are_marked() -> None:
    pieces = split_by_marks("a bee and a bee", [WordMatch(start=12, end=15), WordMatch(start=2, end=5)])
    assert [*map(tuple, pieces)] == [("a ", False), ("bee", True), (" and a ", False), ("bee", True)]


@given(st.integers(0, 3400), st.integers(1, 40))
@example(3400, 1)
def test_long_passage_is_shown_around_first_match(at: int, length: int) -> None:
    text = " ".join(f"{word:04}" for word in range(700))
    shown = excerpt(hit(text, (at, at + length)))
    told = "".join(each.text for each in shown.pieces)
    assert len(told) <= SHOWN_CHARACTERS
    assert told in text
    assert "".join(each.text for each in shown.pieces if each.matched) == text[at : at + length]
    assert (shown.cut_before, shown.cut_after) == (not text.startswith(told), not text.endswith(told))


def test_excerpt_keeps_letters_whole() -> None:
    text = "नी" * 1000
    for at in (801, 802, 803):
        told = "".join(each.text for each in excerpt(hit(text, (at, at + 1))).pieces)
        assert told == "नी" * (len(told) // 2)


def test_reasons_name_what_found_it() -> None:
    assert reasons(hit("a", vector=1, text=12)) == ["semantic rank 1", "keyword rank 12", "similarity 0.50"]


def test_message_shows_code_as_code() -> None:
    assert sentence("folder '<b>' not found. `kg folders list` shows the others") == (
        "Folder &#39;&lt;b&gt;&#39; not found. <code>kg folders list</code> shows the others."
    )


def test_problem_of_a_field_shows_code_as_code() -> None:
    error = {"field": "body.documents", "message": "name documents, or say `all`"}
    assert list_sentences({"status": 422, "type": "urn:kg:input", "errors": [error]}, "/ui/review") == [
        "body: name documents, or say <code>all</code>."
    ]
