"""What a scan finds of each file, and how that adds up. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.graph.documents.folder_scans import FileMark
from kg_api.models.library.documents import DocumentRecord
from kg_api.models.library.folders import MAX_REFUSALS_KEPT, RefusedFile, ScanTally

Result = Literal["added", "changed", "unchanged", "removed", "refused", "postponed"]
RESULT_OF_CHANGE: dict[str, Result] = {"created": "added", "updated": "changed", "unchanged": "unchanged"}


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What is to be done about one file. `result` is None until the document has been stored."""

    document: str
    result: Result | None
    refusal: RefusedFile | None = None
    mark: FileMark | None = None
    """What shall be remembered of it, if that is new."""
    record: DocumentRecord | None = None
    """What is to be stored."""


def refuse(document: str, reason: str, stamp: str = "") -> FileOutcome:
    """A file that cannot be taken in."""
    return FileOutcome(document, "refused", RefusedFile(document=document, reason=reason, stamp=stamp))


def add_up(tally: ScanTally, results: Sequence[Result], refusals: Sequence[RefusedFile] = ()) -> ScanTally:
    """A tally with further results; only so many refusals are kept, all are counted."""
    counts = {name: getattr(tally, name) + results.count(name) for name in set(results)}
    kept = [*tally.refusals, *refusals][:MAX_REFUSALS_KEPT]
    return tally.model_copy(update={**counts, "refusals": kept})
