"""A chat that is answered piece by piece, as OpenAI's server does."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Protocol

PIECE = re.compile(r".{1,12}", re.DOTALL)


class Wire(Protocol):
    """Where bytes go."""

    def write(self, content: bytes, /) -> Any:
        """Send them."""
        ...

    def flush(self) -> None:
        """Now."""
        ...


def stream(wire: Wire, right: dict[str, Any], pause: float, *, usage: bool) -> None:
    """Write a right answer as events, a pause before each; last what was used, where that is asked."""
    used = right.pop("usage", None)
    said = right["choices"][0]["message"]["content"]
    for piece in PIECE.findall(said):
        time.sleep(pause)
        _event(wire, right, {"index": 0, "delta": {"content": piece}, "finish_reason": None})
    _event(wire, right, {"index": 0, "delta": {}, "finish_reason": "stop"})
    if usage:
        _event(wire, {**right, "usage": used})
    wire.write(b"data: [DONE]\n\n")
    wire.flush()


def _event(wire: Wire, right: dict[str, Any], *choices: dict[str, Any]) -> None:
    chunk = {**right, "object": "chat.completion.chunk", "choices": list(choices)}
    wire.write(f"data: {json.dumps(chunk)}\n\n".encode())
    wire.flush()
