"""Proofs that authenticate requests of local commands.

A local command never sends the home's key, because another process could listen on the port while the service
is down. It sends a proof, which is valid for one request within a minute and reveals nothing else.

The keys are in another module, because each command would load the database driver with them.
"""

from __future__ import annotations

import hmac
import re

GOOD_SECONDS = 60
"""Validity of a proof, and maximum clock difference. Command and service usually run on the same machine."""
_PROOF = re.compile(r"kg_local_(?P<at>\d{1,12})_(?P<proof>[0-9a-f]{64})")


def make_proof(home_key: str, now: float, method: str, path: str) -> str:
    """Make the proof of a request, made with the key of a home."""
    at = int(now)
    return f"kg_local_{at}_{_sign(home_key, at, method, path)}"


def is_proof(text: str) -> bool:
    return _PROOF.fullmatch(text) is not None


def verify_proof(text: str, home_key: str | None, now: float, method: str, path: str) -> bool:
    """Check if a text proves a request with a home's key, within the last minute."""
    found = _PROOF.fullmatch(text)
    if found is None or home_key is None:
        return False
    at = int(found["at"])
    is_made = hmac.compare_digest(_sign(home_key, at, method, path), found["proof"])
    return is_made and abs(now - at) <= GOOD_SECONDS


def _sign(home_key: str, at: int, method: str, path: str) -> str:
    return hmac.digest(home_key.encode(), f"access\0{at}\0{method}\0{path}".encode(), "sha256").hex()
