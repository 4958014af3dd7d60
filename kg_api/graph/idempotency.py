"""Requests that may come twice: of those with one key one is carried out, the others get its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.database import Graph, Transaction

KEPT_HOURS = 24
MAX_KEY_LENGTH = 255
"""Characters."""
MAX_CALLER_LENGTH = 20
"""Of what may stand before it."""

Answer = dict[str, Any]


def once(tx: Transaction, key: str, request_hash: str, make: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Carry out a request unless one with its key was in the last 24 hours; (its answer, whether it was now).

    Args:
        tx: the transaction in which all that the request changes is changed.
        key: what the caller sent, such as an Idempotency-Key; with the caller's name before it, if any.
        request_hash: of all that the request says, and what is asked for.
        make: does it within the transaction; its answer goes through JSON.

    Raises:
        Conflict: the key belongs to another request.
        InvalidInput: it is empty or too long.
    """
    if not 0 < len(key) <= MAX_KEY_LENGTH + MAX_CALLER_LENGTH:
        raise InvalidInput(
            f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters, this one has {len(key)}"
        )
    row = tx.run("idempotency/hold", key=key, request_hash=request_hash, hours=KEPT_HOURS)[0]
    if row["request_hash"] != request_hash:
        raise Conflict(
            f"the Idempotency-Key {key!r} was sent with another request in the last {KEPT_HOURS} hours: "
            "send this one with a new key"
        )
    if row["answer"] is not None:
        return json.loads(row["answer"]), False
    answer = make()
    tx.run("idempotency/keep", key=key, answer=json.dumps(answer))
    return answer, True


def forget_old_answers(graph: Graph) -> int:
    """Forget answers older than 24 hours, at most 10,000 a call; how many."""
    return graph.write("idempotency/forget_old", hours=KEPT_HOURS)[0]["forgotten"]
