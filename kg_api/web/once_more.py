"""A question is asked once more where what it read was deleted in the middle (`kg_api.graph.retrying`).

Not where a language model was asked for it: that costs.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.graph.retrying import OF_NULLS, READ_AGAIN_TIMES, log_retry
from kg_api.metrics.spending import was_model_asked
from kg_api.web.access.scopes import SEARCHES

MAX_KEPT_BYTES: Final = 1_000_000
"""Of a body, so that it can be read again; searches are far smaller."""


class OnceMore:
    """Repeats questions, which change nothing, as long as nothing was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "POST"}:
            await self.app(scope, receive, send)
            return
        asked, at_first = _Question(receive, send), dict(scope)
        for attempt in range(1, READ_AGAIN_TIMES + 1):
            try:
                await self.app(scope, asked.receive, asked.send)
            except OF_NULLS as error:
                if not (asked.repeatable and _changes_nothing(scope)) or was_model_asked():
                    raise
                log_retry(attempt, error)
                scope.clear()
                scope.update(at_first)
                asked.again()
            else:
                return
        await self.app(scope, asked.receive, asked.send)


class _Question:
    """What came of a request so far, to be given once more."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._kept: list[Message] = []
        self._given = 0
        self._size = 0
        self._answered = False

    @property
    def repeatable(self) -> bool:
        """Whether all that came is kept, and nothing was answered."""
        return not self._answered and self._size <= MAX_KEPT_BYTES

    def again(self) -> None:
        self._given = 0

    async def receive(self) -> Message:
        """Give the next part (ASGI)."""
        if self._given < len(self._kept):
            self._given += 1
            return self._kept[self._given - 1]
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size <= MAX_KEPT_BYTES:
            self._kept.append(message)
            self._given += 1
        else:
            self._kept.clear()
        return message

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer (ASGI)."""
        self._answered = True
        await self._send(message)


def _changes_nothing(scope: Scope) -> bool:
    route = f"{scope['method']} {getattr(scope.get('route'), 'path_format', '')}"
    return scope["method"] == "GET" or route in SEARCHES
