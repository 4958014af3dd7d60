"""What of a source is prose: its sentences, and what within them is code, markup or an address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kg_api.extract.keyphrase.lists import lists
from kg_api.parse.sentences import sentence_borders

_MASK = "\x01"
"""Stands for what is no prose, character for character, so that offsets stay."""
_MAX_LINE_LENGTH = 5000
"""Beyond it a line is data, whatever it looks like."""

_FENCE = re.compile(r"\s{0,12}(?:>\s?)*(`{3,}|~{3,})")
_RULE = re.compile(r"[\W_]*")
_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w:-]+::|_[^:]{1,200}:)")
_MARKER = re.compile(r"\s*(?:(?:[-+*•·‣>]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\.\. \[[^\]]{1,40}\])\s+)+")
_FIELD = re.compile(r"\s*:?(\w[\w-]{0,24}(?: [\w-]{1,15})?):(?=\s|$)")
_CODE = re.compile(
    r"\s*(?:>>>|\.\.\.\s|\$ |% |#!|//|/\*|\*/|@\w+(?:\(|$)|import [\w.]+\s*(?:$|,|as )|from [\w.]+ import "
    r"|(?:async )?def \w+|class \w+\s*[(:{]|return\b.*[(\[;=]|(?:if|for|while|with|elif|except)\b.*:\s*$"
    r"|(?:else|try|finally):|(?:const|let|var|public|private|static|func|fn|pub|use) \w+\s*[\w:=({<.]"
    r"|[\w.\[\]\"']+\s*(?:[-+*/|&^]|:)?=\s*\S|[\w.]+\(.*\)\s*[;:{]?\s*$|[\"'][\w-]+[\"']\s*:|</?\w+[^>]*>\s*$)"
)
_SYMBOLS = re.compile(r"[{}\[\]()<>=;_\\|$#@\"`+*&^%~/]")
_DENSE = 0.12
_INDENTED_DENSE = 0.05
_WRAPPED = range(45, 160)
"""Lengths of a line that was broken where it was full, so that its sentence goes on in the next."""

_NOT_PROSE = re.compile(
    r"""
    ``[^`\n]+(?:\n[^`\n]+)?``                       # code in a line of reStructuredText
    | :[\w:+.-]{1,30}:(?=`)                          # the name of a role; what it says is masked below
    | (?<=<)[^<>`\n]{1,300}(?=>`_)                   # the target of a link
    | (?<![`\w])`[^`\n]{1,200}`(?!_)                 # code in a line
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
_ABBREVIATIONS = re.compile(r"(?:\w\.)+\w?\.?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of prose, or a line that stands for itself."""

    start: int
    """In code points of the source's text, as `end`."""
    end: int
    text: str
    """text[start:end] of the source, with control characters for what is no prose."""


def sentences(text: str) -> Iterator[Sentence]:
    """Give the sentences of a source, in order. None reaches over a blank line, a list item or code."""
    masked = _mask_text(text)
    for start, end in _blocks(text):
        borders = [start, *sentence_borders(text, start, end), end]
        for begin, stop in pairwise(borders):
            within = text[begin:stop]
            first = begin + len(within) - len(within.lstrip())
            last = begin + len(within.rstrip())
            if first < last and not _is_dense(text[first:last], _DENSE):
                yield Sentence(first, last, masked[first:last])


def _mask_text(text: str) -> str:
    linked = _TITLED_LINK.sub(lambda found: f" {found[1]}{_MASK * (len(found[0]) - len(found[1]) - 1)}", text)
    return _NOT_PROSE.sub(_mask, linked)


def _mask(found: re.Match[str]) -> str:
    said = found[0]
    return said if _ABBREVIATIONS.fullmatch(said) else _MASK * len(said)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans of prose whose lines belong together."""
    begin, stop, fenced = -1, 0, _open_fence(text)
    wrapped = False
    for start, line in _lines(text):
        fence = _FENCE.match(line)
        if fence and (not fenced or fence[1].startswith(fenced)):
            fenced = "" if fenced else fence[1]
        skipped = bool(fence or fenced) or _is_no_prose(line)
        body = start + (0 if skipped else _find_start(line))
        goes_on = not skipped and begin >= 0 and body == start and (wrapped or _begins_small(line))
        if not goes_on:
            if begin >= 0:
                yield begin, stop
            begin = -1 if skipped else body
        stop = start + len(line)
        wrapped = len(line.rstrip()) in _WRAPPED
    if begin >= 0:
        yield begin, stop


def _open_fence(text: str) -> str:
    """The marks that end a code block which began in the source before."""
    marks = [found for _, line in _lines(text) if (found := _FENCE.match(line))]
    if len(marks) % 2 == 0 or text.lstrip()[: marks[0].end() + 1].strip("`~"):
        return ""
    return marks[0][1]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _begins_small(line: str) -> bool:
    return line.lstrip()[:1].islower()


def _find_start(line: str) -> int:
    """Where a line begins to say something: behind its marks and the name of its field."""
    marks = _MARKER.match(line)
    at = marks.end() if marks else 0
    field = _FIELD.match(line, at)
    return field.end() if field and field.end() < len(line.rstrip()) else at


def _is_no_prose(line: str) -> bool:
    if len(line) > _MAX_LINE_LENGTH and " " not in line[:_MAX_LINE_LENGTH]:
        return True
    if _RULE.fullmatch(line) or _DIRECTIVE.match(line) or _CODE.match(line):
        return True
    field = _FIELD.match(line)
    if field and field[1].lower() in lists().data_fields:
        return True
    return _is_dense(line, _INDENTED_DENSE if line.startswith(("    ", "\t")) else _DENSE)


def _is_dense(said: str, share: float) -> bool:
    """Whether so many of the characters are those of code."""
    return len(_SYMBOLS.findall(_TITLED_LINK.sub("", said))) > len(said.strip()) * share
