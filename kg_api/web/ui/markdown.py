"""Markdown from passages as HTML. This only allows some tags, without links, images, and raw HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

PLAIN: Final = frozenset({"text", "rst", "org"})
"""Formats whose texts are not Markdown."""
TAGS: Final = frozenset(
    "p h3 h4 h5 h6 ul ol li blockquote pre code em strong s br hr table thead tbody tr th td".split()  # noqa: SIM905
)
OPEN, CLOSE = "\ue000", "\ue001"
"""Private-use characters to put around matches, because rendering changes offsets."""
_MARKED: Final = re.compile(f"{OPEN}(.*?){CLOSE}", re.DOTALL)
_TAG: Final = re.compile("(<[^>]*>)")
_LARGEST: Final = 3
"""Level of `#` to use in a passage. Levels 1 and 2 are used by the page."""

_parser = MarkdownIt("commonmark", {"html": False})
_parser.enable(["table", "strikethrough"])
_parser.disable(["autolink", "entity", "html_block", "html_inline", "image", "link", "reference"])


def render_markdown(
    pieces: Sequence[tuple[str, bool]], form: str | None, heading: Sequence[str] = ()
) -> Markup:
    """Render a passage as HTML.

    Args:
        pieces: Parts of the text, each with a flag for matches of the query.
        form: Format of the document. Plain formats are only escaped.
        heading: Headings above the passage. First headings that repeat them are omitted.
    """
    text = "".join(part for part, _ in pieces)
    if form in PLAIN or OPEN in text or CLOSE in text:
        parts = (Markup("<mark>{}</mark>").format(part) if hit else escape(part) for part, hit in pieces)
        return Markup('<p class="plain">{}</p>').format(Markup("").join(parts))
    marked = "".join(f"{OPEN}{part}{CLOSE}" if hit else part for part, hit in pieces)
    tokens = [*_reduce(_parser.parse(marked), {_strip(each) for each in heading})]
    html = _parser.renderer.render(tokens, _parser.options, {})
    return Markup(_MARKED.sub(_mark, html).replace(OPEN, "").replace(CLOSE, ""))  # noqa: S704 - the renderer escapes


def _reduce(tokens: Sequence[Token], above: set[str]) -> Iterator[Token]:
    """Make headings smaller and remove attributes, such as inline styles in table cells."""
    skipped = 0
    while (
        len(tokens) > skipped + 3
        and tokens[skipped].type == "heading_open"
        and _strip(tokens[skipped + 1].content) in above
    ):
        skipped += 3
    for each in tokens[skipped:]:
        if each.type in {"heading_open", "heading_close"}:
            each.tag = f"h{min(6, int(each.tag[1:]) + _LARGEST - 1)}"
        each.attrs = {name: value for name, value in each.attrs.items() if name == "start"}
        each.info = ""
        if {each.tag, *(inner.tag for inner in each.children or ())} - {"", *TAGS}:
            raise ValueError(f"unexpected tag {each.tag!r} in Markdown")
        yield each


def _strip(text: str) -> str:
    return re.sub(rf"[\W_{OPEN}{CLOSE}]+", " ", text).strip().casefold()


def _mark(found: re.Match[str]) -> str:
    """Mark each text between two tags, so that marks can be used in elements."""
    parts = (each for each in _TAG.split(found[1]) if each)
    return "".join(each if each.startswith("<") else f"<mark>{each}</mark>" for each in parts)
