"""Cursors as text: sealed, so that a damaged one, or one of another call, is told from a good one.

They say where an answer goes on and nothing else: nothing is kept for them. No rights hang on a cursor, so
its checksum needs no secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from kg_api.errors import InvalidInput

DIGEST = 8
"""Bytes of a digest."""


def digest(*parts: str) -> bytes:
    """Eight bytes that stand for some texts in their order."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


@dataclass(frozen=True, slots=True)
class CursorForm:
    """One kind of cursor."""

    version: int
    """Its first byte, another one for each kind, and for each change of what a kind holds."""
    given_as: str
    """Where an answer gives it."""
    may_differ: str = ""
    """What else than the cursor may differ from the call that gave it."""

    def seal(self, call: bytes, held: bytes) -> str:
        """A cursor that holds something.

        Args:
            call: the digest of what is asked.
            held: what it says.
        """
        body = bytes([self.version]) + call + held
        return _encode(body + _checksum(body))

    def unseal(self, text: str, call: bytes) -> bytes:
        """What a cursor holds.

        Raises:
            InvalidInput: it is damaged, or belongs to another call.
        """
        whole = _decode(text)
        body, checksum = whole[:-DIGEST], whole[-DIGEST:]
        if len(body) <= DIGEST or checksum != _checksum(body) or body[0] != self.version:
            raise InvalidInput(
                f"cursor: not one that kg gave, or changed on the way; copy it from `{self.given_as}`, or "
                "leave it out"
            )
        if body[1 : DIGEST + 1] != call:
            raise InvalidInput(
                f"cursor: it belongs to another call; repeat that call's arguments{self.may_differ}, or "
                "leave the cursor out"
            )
        return body[DIGEST + 1 :]


def _encode(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Empty where it is none; one that is spelt in another way is none, too."""
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    return whole if _encode(whole) == text else b""


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST, person=b"kg cursor").digest()
