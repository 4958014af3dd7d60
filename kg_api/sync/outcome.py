"""What a scan finds of each file, and how that adds up. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kg_api.errors import (
    ConfigurationError,
    DatabasePanicked,
    DatabaseUnavailable,
    SchemaChanging,
    StorageFull,
    TooBusy,
    Unavailable,
)
from kg_api.graph.documents.folder_scans import FileMark
from kg_api.models.library.documents import DocumentRecord, StoredChange
from kg_api.models.library.folders import (
    MAX_DUPLICATES_KEPT,
    MAX_REFUSALS_KEPT,
    DuplicateFile,
    RefusedFile,
    ScanTally,
)

Result = Literal["added", "changed", "unchanged", "removed", "refused", "postponed", "waiting"]
RESULT_OF_CHANGE: dict[str, Result] = {
    "created": "added",
    "updated": "changed",
    "unchanged": "unchanged",
    "waiting": "waiting",
}
_FAILED = "kg failed on it"


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


def reason_of_failure(error: Exception) -> str:
    """What to tell of a file that kg itself fails on."""
    return f"{_FAILED} ({type(error).__name__}): see the worker's log, and please report it"


_AWAY = tuple(
    f"{_FAILED} ({each.__name__})"
    for each in (
        Unavailable,
        DatabaseUnavailable,
        DatabasePanicked,
        SchemaChanging,
        StorageFull,
        TooBusy,
        ConfigurationError,
    )
)
"""What earlier versions told of files while something that they need was away."""


def remembered(refusals: Iterable[RefusedFile]) -> dict[str, RefusedFile]:
    """Files that need not be read again while they look the same, by name.

    Not those that said nothing of themselves: earlier versions refused files while their store was away.
    """
    return {each.document: each for each in refusals if each.stamp and not each.reason.startswith(_AWAY)}


def add_up(tally: ScanTally, results: Sequence[Result], refusals: Sequence[RefusedFile] = ()) -> ScanTally:
    """A tally with further results; only so many refusals are kept, all are counted."""
    counts = {name: getattr(tally, name) + results.count(name) for name in set(results)}
    kept = [*tally.refusals, *refusals][:MAX_REFUSALS_KEPT]
    return tally.model_copy(update={**counts, "refusals": kept})


def add_same_texts(
    tally: ScanTally, found: Iterable[tuple[str, StoredChange]], gone: Collection[str]
) -> ScanTally:
    """A tally with what was stored that other documents say too.

    Args:
        tally: of the scan so far.
        found: documents by name, with what storing them did.
        gone: documents whose files have gone.
    """
    moved, duplicates = tally.moved, list[DuplicateFile]()
    for document, change in found:
        here = [name for name in change.same_text if name not in gone]
        moved += change.change == "created" and len(here) < len(change.same_text)
        duplicates += [DuplicateFile(document=document, duplicate_of=here[0])] if here else []
    kept = [*tally.duplicate_files, *duplicates][:MAX_DUPLICATES_KEPT]
    count = tally.duplicates + len(duplicates)
    return tally.model_copy(update={"moved": moved, "duplicates": count, "duplicate_files": kept})
