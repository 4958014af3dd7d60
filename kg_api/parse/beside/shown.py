"""What a text shows as it stands, code and comments: pictures that are named there are examples. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, autolink, backtick, escape, html_inline

from kg_api.models.library.parsing import Block
from kg_api.parse.cut import line_borders
from kg_api.parse.formats.front_matter import read_front_matter
from kg_api.parse.formats.markdown import blocks

Span = tuple[int, int]
"""Where something begins and ends."""

_MAX_BLOCK_LENGTH = 100_000
"""Characters of a paragraph above which its code is not looked for."""
_IN_HTML = re.compile(
    r"<(?:(?P<raw>!--|(?:script|style|textarea)\b)|(?P<code>(?:pre|code)\b)|/(?P<closed>(?:pre|code)\b))",
    re.IGNORECASE,
)
_ENDS = {
    "!--": re.compile("-->"),
    **{tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in ("script", "style", "textarea")},
}
_PARSER = MarkdownIt("commonmark")
_RULES = (escape, backtick, autolink, html_inline)
_SPECIAL = re.compile(r"[\\`<]")


def shown_in_markdown(text: str, places: Sequence[int]) -> list[Span]:
    """Front matter, code and comments of a Markdown text, in their order, as far as some places need it.

    Args:
        text: the text.
        places: where it names pictures, in their order.
    """
    front = read_front_matter(text).end
    spans = [(0, front)] if front else []
    for block in blocks(text, front) if places else ():
        at = bisect_right(places, block.start - 1)
        if at < len(places) and places[at] < block.end:
            spans += _in_block(text, block)
    return spans


def shown_in_html(text: str, begin: int = 0, end: int | None = None) -> list[Span]:
    """Comments, scripts and code, in their order; code without an end hides nothing."""
    spans, opened = list[Span](), dict[str, int]()
    at, stop = begin, len(text) if end is None else end
    while found := _IN_HTML.search(text, at, stop):
        raw, code, closed = (each and each.lower() for each in found.group("raw", "code", "closed"))
        begin, at = found.span()
        if raw:  # nothing within it is a tag
            ending = _ENDS[raw].search(text, begin + 2, stop)
            at = ending.end() if ending else stop
            spans.append((begin, at))
        elif code:
            opened.setdefault(code, begin)
        elif closed in opened:
            begin = opened[closed]
            opened = {tag: place for tag, place in opened.items() if place < begin}
            while spans and spans[-1][0] > begin:
                spans.pop()
            spans.append((begin, at))
    return spans


def outside(starts: Iterable[int], spans: Sequence[Span]) -> Iterator[bool]:
    """Whether each place is in none of some spans, which are in their order."""
    begins = [begin for begin, _ in spans]
    for start in starts:
        at = bisect_right(begins, start) - 1
        yield at < 0 or start >= spans[at][1]


def _in_block(text: str, block: Block) -> Iterator[Span]:
    if block.kind == "code":
        yield block.start, block.end
    elif block.kind in {"markup", "other"}:
        yield from shown_in_html(text, block.start, block.end)
    elif block.kind == "table":  # code ends with its row
        lines = [block.start, *line_borders(text, block.start, block.end), block.end]
        for begin, end in pairwise(lines):
            yield from _in_line(text, begin, end)
    else:
        yield from _in_line(text, block.start, block.end)


def _in_line(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    if ("`" in part or "<!" in part) and len(part) <= _MAX_BLOCK_LENGTH:
        yield from ((start + begin, start + stop) for begin, stop in _within_lines(part))


def _within_lines(part: str) -> Iterator[Span]:
    """Code and comments of a paragraph, by the parser's own rules."""
    state = StateInline(part, _PARSER, {}, [])
    while found := _SPECIAL.search(part, state.pos):
        begin = state.pos = found.start()
        if not any(rule(state, True) for rule in _RULES):
            state.pos += 1
        elif part.startswith(("`", "<!"), begin):
            yield begin, state.pos
