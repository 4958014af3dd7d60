"""What a scan finds of each file, and how that adds up. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents import Stored
from kg_api.graph.folder_scans import FileMark
from kg_api.models.folders import MOST_REFUSALS_KEPT, RefusedFile, Tally

Result = Literal["added", "changed", "unchanged", "removed", "refused", "postponed"]
RESULT_OF_CHANGE: dict[str, Result] = {"created": "added", "updated": "changed", "unchanged": "unchanged"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be done about one file. `result` is None until the document has been stored."""

    document: str
    result: Result | None
    refusal: RefusedFile | None = None
    mark: FileMark | None = None
    """What shall be remembered of it, if that is new."""
    store: Callable[[Transaction], Stored] | None = None
    prepare: Callable[[Graph], None] | None = None
    """What comes before that, in transactions of its own."""


def refused(document: str, reason: str, stamp: str = "") -> Outcome:
    """A file that cannot be taken in."""
    return Outcome(document, "refused", RefusedFile(document=document, reason=reason, stamp=stamp))


def added_up(tally: Tally, results: Sequence[Result], refusals: Sequence[RefusedFile] = ()) -> Tally:
    """A tally with further results; only so many refusals are kept, all are counted."""
    counts = {name: getattr(tally, name) + results.count(name) for name in set(results)}
    kept = [*tally.refusals, *refusals][:MOST_REFUSALS_KEPT]
    return tally.model_copy(update={**counts, "refusals": kept})
