"""Prose of a source: its sentences, with code, markup and URLs masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kg_api.extraction.language import load_lists
from kg_api.schemas.documents import BlockKind, SourceBlock
from kg_api.text.sentences import find_sentence_borders

_MASK = "\x01"  # replaces other text by character, so that offsets stay the same
_UNREAD: frozenset[BlockKind] = frozenset({"code", "other"})
_RULE = re.compile(r"[\W_]*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w:-]+::|_[^:]{1,200}:)")
_MARKER = re.compile(r"\s*(?:(?:[-+*•·‣>]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\.\. \[[^\]]{1,40}\])\s+)+")
_FIELD = re.compile(r"\s*:?(\w[\w-]{0,24}(?: [\w-]{1,15})?):(?=\s|$)")
_UNMARKED_CODE = re.compile(
    r"\s*(?:>>>|\.\.\.\s|\$ |% |#!|//|/\*|\*/|@\w+(?:\(|$)|import [\w.]+\s*(?:$|,|as )|from [\w.]+ import "
    r"|(?:async )?def \w+|class \w+\s*[(:{]|return\b.*[(\[;=]"
    r"|(?:const|let|var|public|private|static|func) \w+\s*[\w:=({<.]|[\w.\[\]\"']+\s*(?:[-+*/|&^]|:)?=\s*\S"
    r"|[\w.]+\(.*\)\s*[;:{]?\s*$|[\"'][\w-]+[\"']\s*:)"
)
"""Line of code in any block, because code in copied text may be unmarked."""
_STATEMENT = re.compile(
    r"\s*(?:(?:if|for|while|with|elif|except)\b.*:\s*$|(?:else|try|finally):|(?:fn|pub|use) \w+\s*[\w:=({<.]"
    r"|</?\w+[^>]*>\s*$)"
)
"""Line that is code in a program text and prose elsewhere."""
_SYMBOLS = re.compile(r"[{}\[\]()<>=;_\\|$#@\"`+*&^%~/]")
_DENSE = 0.12  # share of symbols from which a line or sentence is data, such as a row of figures
_INDENTED_DENSE = 0.05  # the same for an indented line of program text
_WRAPPED = range(45, 160)  # lengths of a wrapped line, whose sentence continues in the next one

_NOT_PROSE = re.compile(
    r"""
    ``[^`\n]+(?:\n[^`\n]+)?``                       # code in a line of reStructuredText
    | :[\w:+.-]{1,30}:(?=`)                          # the name of a role; what it says is masked below
    | (?<=<)[^<>`\n]{1,300}(?=>`_)                   # the target of a link
    | (?<![`\w])`[^`\n]{1,200}`(?!_)                 # code in a line
    | <code\b[^<>]{0,300}>[^<>]{0,300}</code>        # code in a line of HTML
    | \]\([^()\s]{0,500}\)                           # the target of a link in Markdown
    | \b(?:https?|ftp|file|mailto|urn):\S{1,2000} | \bwww\.\S{1,2000}
    | [\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+
    | </?[A-Za-z!][^<>\n]{0,300}>                    # tags
    | &\#?\w{1,10};
    | \[[\w\#*]{1,12}\]_?
    | (?<!\w)--?[a-z][\w-]{0,60}                     # options of a command
    | (?<![\w.])[\w$%~\\]{0,60}(?:[_\\=$]|::|\.(?=\w{2})|\(\))[\w$.%/\\=:()\[\]-]{0,500}   # names of code
    | (?<!\w)[~.\w-]{0,60}/[\w.-]{1,60}/[\w./-]{0,500}   # paths
    | (?<!\w)[a-z]{2,40}[A-Z]\w{0,60}                # camelCase
    | [%$]\w{1,60} | \{[^{}\n]{0,200}\}
    """,
    re.VERBOSE,
)
_TITLED_LINK = re.compile(r"(?<![`\w])`([^`<>\n]{1,200})(?:<[^`<>\n]{1,300}>)?`__?")
_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})[^`\n]{1,80}\1(?!`)")
_ABBREVIATIONS = re.compile(r"(?:\w\.)+\w?\.?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Sentence of prose, or a line of its own."""

    start: int  # code points of the source
    end: int
    text: str  # text[start:end] of the source, masked


def split_sentences(text: str, blocks: Sequence[SourceBlock]) -> Iterator[Sentence]:
    """Yield the sentences of a source in order, each in one block and list item, without code."""
    linked = _TITLED_LINK.sub(lambda found: f" {found[1]}{_MASK * (len(found[0]) - len(found[1]) - 1)}", text)
    masked = _NOT_PROSE.sub(_mask_match, linked)
    for start, end in _find_prose_spans(text, blocks):
        borders = [start, *find_sentence_borders(text, start, end), end]
        for begin, stop in pairwise(borders):
            within = text[begin:stop]
            first = begin + len(within) - len(within.lstrip())
            last = begin + len(within.rstrip())
            if first < last and not _is_dense(text[first:last]):
                yield Sentence(first, last, masked[first:last])


def _mask_match(found: re.Match[str]) -> str:
    matched = found[0]
    return matched if _ABBREVIATIONS.fullmatch(matched) else _MASK * len(matched)


def _find_prose_spans(text: str, blocks: Sequence[SourceBlock]) -> Iterator[tuple[int, int]]:
    """Yield spans of prose whose lines belong together, each in one block."""
    ends = (*(block.start for block in blocks[1:]), len(text))
    for block, end in zip(blocks or (SourceBlock("paragraph", 0),), ends, strict=True):
        if block.kind not in _UNREAD:
            says_nothing = _is_code_line if block.kind == "program" else _is_without_content
            yield from _join(text, block.start, end, says_nothing)


def _join(text: str, start: int, end: int, says_nothing: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    begin, stop, wrapped = -1, start, False
    for line in text[start:end].split("\n"):
        skipped = says_nothing(line)
        body = start if skipped else start + _find_start(line)
        goes_on = wrapped or line.lstrip()[:1].islower()
        if begin < 0 or body != start or skipped or not goes_on:
            if begin >= 0:
                yield begin, stop
            begin = -1 if skipped else body
        start += len(line) + 1
        stop = start - 1
        wrapped = len(line.rstrip()) in _WRAPPED
    if begin >= 0:
        yield begin, stop


def _find_start(line: str) -> int:
    """Find the start of the text after list marks and a field name."""
    marks = _MARKER.match(line)
    at = marks.end() if marks else 0
    field = _FIELD.match(line, at)
    return field.end() if field and field.end() < len(line.rstrip()) else at


def _is_without_content(line: str) -> bool:
    """Check for a blank line, a rule, a directive, a metadata field, or code."""
    field = _FIELD.match(line)
    known = field is not None and field[1].lower() in load_lists().data_fields
    return known or _is_dense(line) or any(each.match(line) for each in (_RULE, _DIRECTIVE, _UNMARKED_CODE))


def _is_code_line(line: str) -> bool:
    """Check if a line of program text is code or has no content."""
    dense = line.startswith(("    ", "\t")) and _is_dense(line, _INDENTED_DENSE)
    return dense or _STATEMENT.match(line) is not None or _is_without_content(line)


def _is_dense(text: str, share: float = _DENSE) -> bool:
    """Check the share of symbols, without marked code spans."""
    plain = _TITLED_LINK.sub("", _CODE_SPAN.sub("", text))
    return len(_SYMBOLS.findall(plain)) > len(text.strip()) * share
