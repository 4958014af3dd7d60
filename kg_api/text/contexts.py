"""The line before a chunk when it is embedded: its title, headings, date and author."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from kg_api.schemas.embedding import date_and_people, fill_template
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.markdown import plain_title

MAX_LINE_LENGTH = 300  # characters of a line, about 75 tokens: the rest is for the text
_MARKS = "#=-~^*+\"'`_: \t"
"""What stands around a heading's words in Markdown and reStructuredText."""
_LINES = 12  # lines in which a chunk's own headings are looked for


def template(
    title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Give one line of title, headings, date and author, of at most 300 characters; empty when none is known.

    Args:
        title: the document's title.
        heading: the path of headings above the chunk, the highest first.
        metadata: the document's; of its keys `date`, `published`, `updated` or `created`, and `author`,
            `authors` or `by` are used.
        text: the chunk; headings that it begins with are not repeated.
    """
    path = _path(_without_repeats((title, *heading)), text)
    rest = map(_in_bounds, date_and_people(metadata))
    ending = ", ".join(part for part in rest if part)
    line = _shorten(path, MAX_LINE_LENGTH - (len(ending) + 3 if ending else 0))
    return f"{line} ({ending})" if line and ending else line or ending


def by_template(
    pattern: str, title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Give the line of an ontology's own template, of at most 300 characters; else it is as `template`."""
    date, people = map(_in_bounds, date_and_people(metadata))
    above = _without_repeats((title, *heading))[1:] if title else heading
    path = _shorten(_path(above, text), MAX_LINE_LENGTH // 2)
    values = {"title": plain_title(title), "heading": path, "date": date, "author": people}
    return fill_template(pattern, values)[:MAX_LINE_LENGTH].rstrip()


def _path(names: Iterable[str], text: str) -> list[str]:
    """Headings but for those that the text begins with."""
    own = {_fold(name) for name in _first_headings(text)}
    return [name for name in map(plain_title, names) if name and _fold(name) not in own]


def contextual(before: str, text: str) -> str:
    """The text with its context in front, as it is embedded."""
    return f"{before}\n\n{text}" if before else text


def _without_repeats(names: Iterable[str]) -> list[str]:
    """The first heading of a document is mostly its title."""
    kept: list[str] = []
    for name in names:
        if not kept or _fold(kept[-1]) != _fold(name):
            kept.append(name)
    return kept


def _first_headings(text: str) -> Iterable[str]:
    """Lines at the beginning of a chunk that may be headings, without their marks."""
    return islice((name for line in text[:2000].splitlines() if (name := line.strip(_MARKS))), _LINES)


def _fold(name: str) -> str:
    return " ".join(plain_title(name).casefold().split())


def _in_bounds(value: str) -> str:
    return value if len(value) <= MAX_LINE_LENGTH // 4 else value[: MAX_LINE_LENGTH // 4 - 1].rstrip() + "…"


def _shorten(path: Sequence[str], most: int) -> str:
    """Join the path with `most` characters: its middle is left out first, then the ends of its names."""
    names = list(path)
    while len(line := " > ".join(names)) > most and len(names) > 1:
        middle = 1 if "…" not in names else 2
        if len(names) - middle < 2:  # noqa: PLR2004 - the first and the last say most
            break
        names[1 : middle + 1] = ["…"]
    if len(line) <= most:
        return line
    share = (most - len(" > ") * (len(names) - 1) - names.count("…")) // (len(names) - names.count("…"))
    return " > ".join(name if len(name) <= share else name[: share - 1].rstrip() + "…" for name in names)
