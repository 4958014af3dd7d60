"""What texts show as code or in comments names no picture."""

from __future__ import annotations

import pytest

from kg_api.schemas.formats import Format
from kg_api.text.linked_files import MAX_REFERENCES, references


def test_what_a_markdown_text_shows_as_code_names_no_picture() -> None:
    text = """\
---
cover: "![f](front.png)"
---
Write `![a](span.png)` or `` ![`](longer.png) `` \\`![b](real.png)\\` and ![c `x`](too.png).

- ```markdown
  ![d](fence.png)
  ```
> ~~~
> <img src="quoted.png">

    ![e](indented.png)

Text <!-- ![g](inline.png) --> here, and `<img src="tag.png">` ![h](last.png "with `title`")

| a `![i](cell.png)` | ![j](`row.png) |
|---|---|
| ![k](shown.png) | `x |

<!-- ![l](comment.png)
<img src="comment-tag.png"> -->

<pre>![m](pre.png) <img src="pre-tag.png"></pre>

<p><!-- <img src="no.png"> --><img src="logo.png"></p>
"""
    assert references(text, "markdown") == (
        *("real.png", "too.png", "last.png", "`row.png", "shown.png", "logo.png"),
    )


def test_what_a_page_shows_or_comments_names_no_picture() -> None:
    page = """<!-- <img src="a.png"> <pre> --><img src="yes.png"><pre>x <code><img src="b.png"></code>
        <img src="c.png"></PRE><script>"<img src='d.png'>"</script><code>without end <img src="and.png">
        <!-- without end <img src="e.png">"""
    assert references(page, "html") == ("yes.png", "and.png")


@pytest.mark.parametrize(
    "text", ["`", "``` ` ", "<!--", "<!-- <a ", "<pre>", "<code> </pre>", "\\`<b", "`\n\n"]
)
def test_nor_does_one_with_much_that_may_be_code(text: str) -> None:
    forms: tuple[tuple[Format, str], ...] = (
        ("markdown", "![a](a.png) {} ![b](b.png)"),
        ("html", "<img src=a.png> {}"),
    )
    for form, named in forms:
        assert "a.png" in references(named.format(text * 10_000), form)
        assert len(references(named.format(text * 50_000), form)) <= MAX_REFERENCES
