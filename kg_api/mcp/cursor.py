"""Cursors of tools: a place in a list, and what was given before it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from kg_api.errors import Conflict
from kg_api.models.cursors import CursorForm, digest

_FORM = CursorForm(1, "more.cursor", ", where only token_budget may differ")
_HELD = struct.Struct(">II8s")


@dataclass(frozen=True, slots=True)
class Position:
    """What has been given so far: so many items, and so many code points of the next one's text."""

    index: int = 0
    offset: int = 0


def write_cursor(call: bytes, position: Position, given: Iterable[str]) -> str:
    """A cursor.

    Args:
        call: the digest of the tool's name and arguments.
        position: where to go on.
        given: the keys of items that were given before; they must be the same when the cursor is used.
    """
    return _FORM.seal(call, _HELD.pack(position.index, position.offset, digest(*given)))


@dataclass(frozen=True, slots=True)
class Cursor:
    """A cursor that was read."""

    position: Position
    given: bytes

    def check(self, given: Iterable[str]) -> None:
        """See that what was given before is still there.

        Raises:
            Conflict: it is not.
        """
        if digest(*given) != self.given:
            raise Conflict(
                "what this call finds has changed since the cursor was given; call again without it"
            )


def read_cursor(text: str, call: bytes) -> Cursor:
    """Read a cursor.

    Raises:
        InvalidInput: it is damaged, or belongs to another call.
    """
    index, offset, given = _HELD.unpack(_FORM.unseal(text, call))
    return Cursor(Position(index, offset), given)
