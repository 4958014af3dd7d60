"""Cursors: where an answer goes on. They say a place in a list and nothing else, so nothing is kept for them.

No rights hang on a cursor, so its checksum needs no secret: it tells a damaged one from a good one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from kg_api.errors import Conflict, InvalidInput

_FORM = struct.Struct(">B8sII8s")
_VERSION = 1
_DIGEST = 8


@dataclass(frozen=True, slots=True)
class Position:
    """What has been given so far: so many items, and so many code points of the next one's text."""

    index: int = 0
    offset: int = 0


def digest(*parts: str) -> bytes:
    """Eight bytes that stand for some texts in their order."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def write_cursor(call: bytes, position: Position, given: Iterable[str]) -> str:
    """A cursor.

    Args:
        call: the digest of the tool's name and arguments.
        position: where to go on.
        given: the keys of items that were given before; they must be the same when the cursor is used.
    """
    body = _FORM.pack(_VERSION, call, position.index, position.offset, digest(*given))
    return base64.urlsafe_b64encode(body + _checksum(body)).decode().rstrip("=")


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
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        whole = b""
    body, checksum = whole[: _FORM.size], whole[_FORM.size :]
    if len(body) != _FORM.size or checksum != _checksum(body) or body[0] != _VERSION:
        raise InvalidInput(
            "cursor: not one that kg gave, or changed on the way; copy it from `more.cursor`, or leave it out"
        )
    _, its_call, index, offset, given = _FORM.unpack(body)
    if its_call != call:
        raise InvalidInput(
            "cursor: it belongs to another call; repeat that call's arguments, where only token_budget "
            "may differ, or leave the cursor out"
        )
    return Cursor(Position(index, offset), given)


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST, person=b"kg cursor").digest()
