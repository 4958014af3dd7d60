"""What was left out of a folder, and what would help."""

from __future__ import annotations

from kg_api.models.library.formats import NOT_READ, UNREAD_PICTURES
from kg_api.parse.documents import SUFFIXES
from kg_api.parse.files import FileSelection

READS = f"kg reads {' '.join(sorted(SUFFIXES))}; save the others as one of these"
_CONVERTERS = (
    ("pandoc", frozenset([".odt", ".rtf"])),
    ("LibreOffice", frozenset([".doc", ".ppt", ".odp"])),
)


def describe_left_out(selection: FileSelection) -> list[str]:
    """Each kind of file that was left out with its number, and what would help."""
    kinds = selection.left_out
    lines = [f"left out: {kind} ({count}){_unread(kind)}" for kind, count in sorted(kinds.items())]
    for tool, suffixes in _CONVERTERS:
        if found := sorted(suffixes & kinds.keys()):
            lines.append(f"{tool} converts {', '.join(found)}: ingest the text that it makes")
    if pictures := sorted(UNREAD_PICTURES & kinds.keys()):
        lines.append(f"{', '.join(pictures)}: export these pictures as JPEG or PNG, and ingest those")
    if any(is_ending(kind) and kind not in NOT_READ for kind in kinds):
        lines.append(
            "a file of another ending that is text, a PDF or a picture is read when it is named itself: "
            "kg ingest FILE"
        )
    return lines


def is_ending(kind: str) -> bool:
    """Whether files were left out for their ending, and for no other reason."""
    return kind.startswith(".") or kind == "no ending"


def _unread(kind: str) -> str:
    return ", not supported" if is_ending(kind) else ""
