from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from kg_api.web.ui.markdown import TAGS, render_markdown

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
