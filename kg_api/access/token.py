"""What a key looks like: `kg_`, its id, `_` and 256 random bits. Pure.

So much randomness cannot be guessed, so one round of SHA-256 is enough to store it by: what is slow on
purpose (argon2, bcrypt) protects secrets that people think of.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from kg_api.models.keys import WHOLE_KEY

ID_BYTES = 4
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class KeyToken:
    """A key as its owner has it; it does not show its text."""

    key_id: str
    text: str

    def __repr__(self) -> str:
        return f"KeyToken({self.key_id})"

    @property
    def secret_hash(self) -> str:
        """What is stored of it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def has_hash(self, stored: str) -> bool:
        """Whether a stored hash is its own, in the same time for every other one."""
        return hmac.compare_digest(self.secret_hash, stored)


def make_token() -> KeyToken:
    """A new one."""
    key_id = secrets.token_hex(ID_BYTES)
    return KeyToken(key_id, f"kg_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}")


def parse_token(text: str) -> KeyToken | None:
    """A key as it was sent; None where it cannot be one."""
    found = WHOLE_KEY.fullmatch(text)
    return KeyToken(found["key_id"], text) if found else None
