"""Context line in front of a chunk for embedding: title, headings, date, and author."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from kg_api.schemas.embedding import fill_template, find_date_and_people
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.markdown import clean_title

MAX_LINE_LENGTH = 300  # characters, about 75 tokens, to leave room for the text
_MARKS = "#=-~^*+\"'`_: \t"  # characters around the words of a heading in Markdown and reStructuredText
_LINES = 12  # lines at the start of a chunk that may contain its own headings


def fill_usual_template(
    title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Return a line of title, headings, date, and author with at most 300 characters (possibly empty).

    The metadata has the date as `date`, `published`, `updated`, or `created`, and the author as `author`,
    `authors`, or `by`. The line omits headings at the start of the chunk (`text`).
    """
    path = _build_path(_without_repeats((title, *heading)), text)
    rest = map(_limit_value, find_date_and_people(metadata))
    ending = ", ".join(part for part in rest if part)
    line = _shorten(path, MAX_LINE_LENGTH - (len(ending) + 3 if ending else 0))
    return f"{line} ({ending})" if line and ending else line or ending


def fill_own_template(
    pattern: str, title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Return the line of an ontology's own template, of at most 300 characters. See `fill_usual_template`."""
    date, people = map(_limit_value, find_date_and_people(metadata))
    above = _without_repeats((title, *heading))[1:] if title else heading
    path = _shorten(_build_path(above, text), MAX_LINE_LENGTH // 2)
    values = {"title": clean_title(title), "heading": path, "date": date, "author": people}
    return fill_template(pattern, values)[:MAX_LINE_LENGTH].rstrip()


def _build_path(names: Iterable[str], text: str) -> list[str]:
    """Return the headings that are not at the start of the text."""
    lines = filter(None, (line.strip(_MARKS) for line in text[:2000].splitlines()))
    own = set(map(_fold, islice(lines, _LINES)))
    return [name for name in map(clean_title, names) if name and _fold(name) not in own]


def add_context(before: str, text: str) -> str:
    """Return the text for embedding, with its context in front."""
    return f"{before}\n\n{text}" if before else text


def _without_repeats(names: Iterable[str]) -> list[str]:
    """Remove repeated names. The first heading of a document is usually its title."""
    kept: list[str] = []
    for name in names:
        if not kept or _fold(kept[-1]) != _fold(name):
            kept.append(name)
    return kept


def _fold(name: str) -> str:
    return " ".join(clean_title(name).casefold().split())


def _limit_value(value: str) -> str:
    return value if len(value) <= MAX_LINE_LENGTH // 4 else value[: MAX_LINE_LENGTH // 4 - 1].rstrip() + "…"


def _shorten(path: Sequence[str], most: int) -> str:
    """Join a path to at most `most` characters. Drop middle names first, then shorten the rest."""
    names = list(path)
    while len(line := " > ".join(names)) > most and len(names) > 1:
        middle = 1 if "…" not in names else 2
        if len(names) - middle < 2:  # noqa: PLR2004 - the first and last names matter most
            break
        names[1 : middle + 1] = ["…"]
    if len(line) <= most:
        return line
    share = (most - len(" > ") * (len(names) - 1) - names.count("…")) // (len(names) - names.count("…"))
    return " > ".join(name if len(name) <= share else name[: share - 1].rstrip() + "…" for name in names)
