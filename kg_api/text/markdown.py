"""Blocks, titles, and front matter of Markdown, and blocks of plain text and programs."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token
from pydantic import TypeAdapter, ValidationError

from kg_api.schemas.documents import Block, BlockKind
from kg_api.schemas.metadata import Metadata, MetadataValue, Scalar
from kg_api.text.lines import find_line_starts, is_blank

_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n?|\n)(?=[\w#])((?:[^\r\n]*(?:\r\n?|\n)){1,500}?)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)((?:[^\r\n]*(?:\r\n?|\n)){0,500}?)\+\+\+[ \t]*(?:\r\n?|\n|\Z)")
_METADATA = TypeAdapter[dict[str, MetadataValue]](Metadata)
_NOT_KEPT = 5  # names of skipped fields in the note
_PLAIN = (str, bool, int, float)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    end: int = 0  # start of the text (0: no valid front matter)
    title: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    notes: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """YAML loader that rejects aliases, because a few lines of them can expand to gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)

    def construct_yaml_timestamp(self, node: Any) -> Any:
        """Keep a date that does not exist as text, such as 2025-02-31."""
        try:
            return super().construct_yaml_timestamp(node)
        except ValueError:
            return self.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_timestamp)


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of a Markdown text. Invalid front matter stays part of the text."""
    if text.startswith("+++"):
        return _read_toml(text)
    found = _FRONT_MATTER.match(text)
    if not found:
        return FrontMatter()
    try:
        fields = yaml.load(found[1], _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = _describe_yaml_error(error)
        return FrontMatter(notes=(f"the front matter is not valid YAML{reason} and stays in the text",))
    if not isinstance(fields, dict):
        return FrontMatter()
    return _parse_front_matter(found.end(), cast("dict[object, object]", fields))


def _describe_yaml_error(error: Exception) -> str:
    """Return the line and the problem in brackets, with lines counted from the `---` above the fields."""
    if isinstance(error, RecursionError):
        return " (its values are nested too deeply)"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f" (line {error.problem_mark.line + 2}: {error.problem})"
    return f" ({error})"


def _read_toml(text: str) -> FrontMatter:
    found = _TOML.match(text)
    if not found:
        return FrontMatter()
    try:
        fields = tomllib.loads(found[1].replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, RecursionError):
        return FrontMatter(notes=("the front matter is not valid TOML and stays in the text",))
    return _parse_front_matter(found.end(), cast("dict[object, object]", fields))


def _parse_front_matter(end: int, said: Mapping[object, object]) -> FrontMatter:
    fields = {str(key): value for key, value in said.items() if value is not None and value != []}
    title = fields.pop("title", "")
    values = {key: _parse_value(value) for key, value in fields.items()}
    kept = {key: value for key, value in values.items() if value is not None}
    rest = [key for key in values if key not in kept]
    try:
        metadata = _METADATA.validate_python(kept)
    except ValidationError:
        metadata, rest = dict[str, MetadataValue](), [*values]
    return FrontMatter(end, str(title) if isinstance(title, _PLAIN) else "", metadata, _list_notes(rest))


def _parse_value(said: object) -> MetadataValue:
    """Return a scalar, or a list with one type of scalars, or None for other values."""
    if not isinstance(said, list):
        return _parse_scalar(said)
    values = [_parse_scalar(each) for each in cast("list[object]", said)]
    if None in values:
        return None
    kinds = {type(each) for each in values}
    return cast("MetadataValue", values if len(kinds) == 1 else [str(each) for each in values])


def _parse_scalar(said: object) -> Scalar | None:
    if isinstance(said, dt.date | dt.time):  # a datetime is a date
        return said.isoformat()
    return said if isinstance(said, _PLAIN) else None


def _list_notes(rest: list[str]) -> tuple[str, ...]:
    if not rest:
        return ()
    named = ", ".join(rest[:_NOT_KEPT])[:200]
    more = f" and {len(rest) - _NOT_KEPT} more" if len(rest) > _NOT_KEPT else ""
    return (f"front matter that kg cannot store as metadata: {named}{more}",)


# Plain text: paragraphs between blank lines


def split_text_blocks(text: str, kind: BlockKind = "paragraph") -> list[Block]:
    """Return the runs of non-blank lines as blocks of this kind."""
    found: list[Block] = []
    begin: int | None = None
    for line, following in pairwise(find_line_starts(text)):
        if is_blank(text, line, following):
            if begin is not None:
                found.append(Block(kind, begin, line))
            begin = None
        elif begin is None:
            begin = line
    return found if begin is None else [*found, Block(kind, begin, len(text))]


def build_whole_image(text: str) -> list[Block]:
    return [Block("image", 0, len(text))]


# Titles without markup

_MAX_TITLE_LENGTH = 200  # characters, because every source stores its heading path
_LOOKED_AT = 2000

_MARKS = (
    (re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), r"\1"),  # Markdown link or image
    (re.compile(r":[\w.+:-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # RST role
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`_{0,2}"), r"\1"),  # RST link
    (re.compile(r"(`{1,2})([^`]+)\1_{0,2}"), r"\2"),  # code, or an RST reference
    (re.compile(r"(?<!\w)(\*{1,3}|~~)(?=\S)([^*~]+)(?<=\S)\1(?!\w)"), r"\2"),  # emphasis
    (re.compile(r"\\\s"), ""),  # escaped space in RST
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),  # escaped character
    (re.compile(r"\s*\{#[\w-]+\}\s*$"), ""),  # anchor of a heading
)


def clean_title(raw: str) -> str:
    """Return a heading on one line, at most 200 characters, without inline markup."""
    title = raw[:_LOOKED_AT]
    for mark, words in _MARKS:
        title = mark.sub(words, title)
    title = " ".join(title.split())
    return title if len(title) <= _MAX_TITLE_LENGTH else title[: _MAX_TITLE_LENGTH - 1].rstrip() + "…"


# Markdown (CommonMark and tables), block level only, parsed by markdown-it-py

_LEAVES: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "table": "table",
    "html_block": "markup",
    "hr": "other",
}
_WINDOW = 2_000
_MAX_WINDOW_LENGTH = 16_000
"""Limit of lines parsed at once. A list line needs 6 tokens of 300 bytes."""

_HTML_ENDS = {"<!--": "-->", "<pre": "</pre>", "<script": "</script>", "<style": "</style>"}
_CODE_IN_HTML = re.compile(r"<(?:pre|script|style|textarea|!|\?)", re.IGNORECASE)


def parse_blocks(text: str, begin: int = 0) -> list[Block]:
    """Return the blocks after the front matter (from `begin`), separately inside lists and quotations."""
    starts = find_line_starts(text)
    found: list[Block] = []
    for line, tokens in _parse_windows(text, starts, bisect_left(starts, begin)):
        found += _list_leaves(tokens, starts, line)
    return found


def close_blocks(text: str) -> str:
    """Close a code fence or an HTML block at the end of a text, so that text can follow."""
    tokens = MarkdownIt("commonmark").disable(["inline", "reference"]).parse(text)
    if not tokens or tokens[-1].level or tokens[-1].map is None:
        return text
    last, (begin, end) = tokens[-1], tokens[-1].map
    inside = len(last.content.removesuffix("\n").split("\n")) if last.content else 0
    if last.type == "fence" and end - begin < inside + 2:  # the fence and its end
        return f"{text}\n{last.markup}"
    if last.type == "html_block":
        content = last.content.lower().lstrip()
        for start, close in _HTML_ENDS.items():
            if content.startswith(start) and close not in content:
                return f"{text}\n{close}"
    return text


def _parse_windows(text: str, starts: Sequence[int], line: int) -> Iterator[tuple[int, list[Token]]]:
    """Parse a large text in parts that start at a block, to limit memory."""
    lines, size = len(starts) - 1, _WINDOW
    while line < lines:
        stop = min(line + size, lines)
        parser = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
        parser.block.ruler.at("table", _parse_table, {"alt": ["paragraph", "reference"]})
        tokens = parser.parse(text[starts[line] : starts[stop]])
        last, begin = _find_last_block(tokens)
        if stop < lines and begin > 0:  # the last block may continue after the window, so restart with it
            yield line, tokens[:last]
            line, size = line + begin, _WINDOW
        elif stop < lines and tokens and (size < _MAX_WINDOW_LENGTH or tokens[0].type in {"fence", "table"}):
            size *= 2
        else:  # the end of the text, or a huge paragraph, which continues as a new block
            yield line, tokens
            line, size = stop, _WINDOW


def _parse_table(state: StateBlock, line: int, stop: int, silent: bool) -> bool:
    """Parse a table as one token. The rule of markdown-it creates three tokens for each cell."""
    if not table(state, line, stop, silent=True):  # checks the header and the delimiter row
        return False
    if silent:
        return True
    ends = state.md.block.ruler.getRules("blockquote")
    row = line + 2
    while (
        row < stop
        and state.sCount[row] >= state.blkIndent
        and not any(end(state, row, stop, True) for end in ends)
        and not state.isEmpty(row)
        and not state.is_code_block(row)
    ):
        row += 1
    state.push("table", "table", 0).map = [line, row]
    state.line = row
    return True


def _find_last_block(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return the token index and line of the last top-level block or list item."""
    for i in range(len(tokens) - 1, -1, -1):
        place, token = tokens[i].map, tokens[i]
        if place and (token.level == 0 or (token.level == 1 and token.type == "list_item_open")):
            return i, place[0]
    return 0, 0


def _list_leaves(tokens: Sequence[Token], starts: Sequence[int], line: int) -> Iterator[Block]:
    lists = 0
    for i, token in enumerate(tokens):
        lists += token.nesting if token.tag in {"ul", "ol"} else 0
        kind = _LEAVES.get(token.type)
        if kind is None or token.map is None:
            continue
        start, end = (starts[line + at] for at in token.map)
        if kind == "markup" and _CODE_IN_HTML.search(token.content):
            kind = "other"
        if kind == "heading" and token.level == 0:
            yield Block(kind, start, end, int(token.tag[1]), clean_title(tokens[i + 1].content))
        elif kind in {"heading", "paragraph"}:
            yield Block("list_item" if lists else "paragraph", start, end)
        else:
            yield Block(kind, start, end)
