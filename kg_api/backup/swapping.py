"""Putting what was restored in the place of what was there.

It is noted first, then done, and finished by whoever comes next. Everything is restored and tried out beside
what is there. From the note on it is the restored one that counts: what a kill between two renames left is
finished by the next command. Before the note, nothing was touched.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from kg_api.errors import Conflict
from kg_api.managed import files
from kg_api.managed.home import Home

_RESTORED: Final = ("neo4j", "blobs", "neo4j-password")
"""What a restore makes, below a home."""


class SwapNote(BaseModel):
    """What goes out and what comes in, while that is done."""

    backup: str
    out: list[str]
    into: list[str]


def swap(home: Home, backup: Path) -> None:
    """Let a home hold what lies restored beside it, and remove what it held.

    Raises:
        OSError: a rename failed; the next command finishes it.
    """
    refuse_mounts(home)
    shutil.rmtree(home.replaced, ignore_errors=True)
    note = SwapNote(
        backup=str(backup),
        out=[name for name in _RESTORED if (home.path / name).exists()],
        into=[name for name in _RESTORED if (home.restoring / name).exists()],
    )
    files.write_json(home.restore_file, note.model_dump())
    finish_swap(home)


def finish_swap(home: Home) -> str | None:
    """Finish what was begun; gives the backup that is restored with it, None where nothing was begun.

    Raises:
        OSError: as in `swap`.
    """
    if not home.restore_file.exists():
        return None
    note = SwapNote.model_validate(files.read_json(home.restore_file))
    files.make_folder(home.replaced)
    for name in note.out:
        _move_out(home, name, replaced=name in note.into)
    for name in note.into:
        _move_in(home, name)
    for folder in (home.restoring, home.replaced):
        shutil.rmtree(folder, ignore_errors=True)
    home.restore_file.unlink()
    return note.backup


def refuse_mounts(home: Home) -> None:
    """See to it that all can be exchanged by renames.

    Raises:
        Conflict: a part of the home is a disk of its own.
    """
    for name in _RESTORED:
        if (home.path / name).is_mount():
            raise Conflict(
                f"{home.path / name} is a disk of its own and cannot be replaced: restore into an empty home"
            )


def holds_data(home: Home) -> bool:
    """Whether there is something that a restore would replace."""
    return home.has_data() or (home.blobs.is_dir() and any(home.blobs.iterdir()))


def _move_out(home: Home, name: str, *, replaced: bool) -> None:
    """Move the old one aside, once: where the new one has come in, what is there is the new one."""
    there, old = home.path / name, home.replaced / name
    if there.exists() and not old.exists() and (not replaced or (home.restoring / name).exists()):
        there.rename(old)


def _move_in(home: Home, name: str) -> None:
    there, new = home.path / name, home.restoring / name
    if not new.exists():
        return
    if there.is_dir():  # every command makes the folders of a home: an empty one, since the old one went
        shutil.rmtree(there)
    new.rename(there)
