"""How a command on the machine of the service is let in: it can read this home's key. Pure.

The key itself is never sent, for whoever listens at the service's port while the service is down would have
it. What is sent is good for one request and for a minute, and nothing else can be made of it.
"""

from __future__ import annotations

import hmac
import re

GOOD_SECONDS = 60
"""Also how far the clocks of a command and the service may be apart: both are of one machine, or nearly."""
_PROOF = re.compile(r"kg_local_(?P<at>\d{1,12})_(?P<proof>[0-9a-f]{64})")


def make_proof(home_key: str, now: float, method: str, path: str) -> str:
    """What is sent with a request by whoever can read a home's key.

    Args:
        home_key: the key.
        now: seconds since 1970.
        method: of the request, as in `GET`.
        path: as it stands in the request, without its query.
    """
    at = int(now)
    return f"kg_local_{at}_{_sign(home_key, at, method, path)}"


def is_proof(text: str) -> bool:
    """Whether a text has the form of a proof."""
    return _PROOF.fullmatch(text) is not None


def proves(text: str, home_key: str | None, now: float, method: str, path: str) -> bool:
    """Whether a text was made for a request with a home's key, within the last minute."""
    found = _PROOF.fullmatch(text)
    if found is None or home_key is None:
        return False
    at = int(found["at"])
    is_made = hmac.compare_digest(_sign(home_key, at, method, path), found["proof"])
    return is_made and abs(now - at) <= GOOD_SECONDS


def _sign(home_key: str, at: int, method: str, path: str) -> str:
    return hmac.digest(home_key.encode(), f"access\0{at}\0{method}\0{path}".encode(), "sha256").hex()
