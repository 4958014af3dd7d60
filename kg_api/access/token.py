"""What keys and sessions look like. A key: `kg_`, its id, `_` and 256 random bits. Pure.

So much randomness cannot be guessed, so one round of SHA-256 is enough to store it by: what is slow on
purpose (argon2, bcrypt) protects secrets that people think of.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

from kg_api.models.keys import WHOLE_KEY

ID_BYTES = 4
SECRET_BYTES = 32
_SESSION: Final = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, repr=False)
class _Secret:
    """What its owner has whole and nobody else; it does not show its text."""

    text: str

    def __repr__(self) -> str:
        return type(self).__name__

    @property
    def secret_hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def has_hash(self, stored: str) -> bool:
        """Whether a stored hash is its own, in the same time for every other one."""
        return hmac.compare_digest(self.secret_hash, stored)


@dataclass(frozen=True, slots=True, repr=False)
class KeyToken(_Secret):
    """A key as its owner has it."""

    key_id: str

    def __repr__(self) -> str:
        return f"KeyToken({self.key_id})"


@dataclass(frozen=True, slots=True, repr=False)
class SessionToken(_Secret):
    """A session of the page as a browser has it."""

    @property
    def csrf_token(self) -> str:
        """What a page of ours sends along; a foreign one can have the cookie sent, and cannot know this."""
        return hmac.digest(self.text.encode(), b"csrf", "sha256").hex()

    def has_csrf_token(self, sent: str) -> bool:
        """Whether what was sent along is its own, in the same time for every other one."""
        return hmac.compare_digest(self.csrf_token.encode(), sent.encode("utf-8", "replace"))


def make_token() -> KeyToken:
    """A new one."""
    key_id = secrets.token_hex(ID_BYTES)
    return KeyToken(f"kg_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}", key_id)


def parse_token(text: str) -> KeyToken | None:
    """A key as it was sent; None where it cannot be one."""
    found = WHOLE_KEY.fullmatch(text)
    return KeyToken(text, found["key_id"]) if found else None


def make_session_token() -> SessionToken:
    """A new one."""
    return SessionToken(secrets.token_urlsafe(SECRET_BYTES))


def parse_session_token(text: str) -> SessionToken | None:
    """One as a browser sent it; None where it cannot be one."""
    return SessionToken(text) if _SESSION.fullmatch(text) else None
