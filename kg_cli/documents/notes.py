"""Notes on files, one line for many that say the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kg_api.models.library.documents import Ingested

MAX_NAMED_ALONE = 3
"""So many files are named one by one."""
_NUMBERS = re.compile(r"\d+(?:[-, ]+\d+)*")


def describe_duplicates(found: Sequence[tuple[str, str]], count: int | None = None) -> Iterator[str]:
    """Documents that say the same as others, many of them in one line.

    Args:
        found: the names of each and of the other one; the first of them.
        count: how many there are.
    """
    count = len(found) if count is None else count
    if count <= MAX_NAMED_ALONE:
        yield from (f"{document} has the same text as {other}" for document, other in found)
    else:
        document, other = found[0]
        yield f"{count} documents have the same text as another, such as {document} as {other}"


def describe_notes(ingested: Iterable[Ingested]) -> Iterator[str]:
    """What a person should see of files; the first of many that differ by numbers alone."""
    alike: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for each in ingested:
        for note in each.notes:
            alike[_NUMBERS.sub("#", note)].append((each.document, note))
    for found in alike.values():
        if len(found) <= MAX_NAMED_ALONE:
            yield from (f"{document}: {note}" for document, note in found)
        else:
            document, note = found[0]
            yield f"{len(found)} files, such as {document}: {note}"
