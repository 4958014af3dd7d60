"""Rejects requests that are meant for the service of another home, which had this port before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.web.problems import problem
from kg_api.wording.hosts import HOME_HEADER

OTHER_HOME: Final = (
    "this kg serves another home than the command expects: start the kg of that home with `kg up`, or set "
    "KG_API_URL to use this one"
)


class HomeCheck:
    """Answers a request that names a home with the id of this service's home; a wrong one gets a 421.

    Args:
        app: the next application.
        instance: returns the id of this service's home; None if the home cannot be written.
    """

    def __init__(self, app: ASGIApp, instance: Callable[[], str | None]) -> None:
        self.app = app
        self._instance = instance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        expected = Headers(scope=scope).get(HOME_HEADER) if scope["type"] == "http" else None
        if expected is None:
            await self.app(scope, receive, send)
            return
        own = self._instance()

        async def send_with_home(message: Message) -> None:
            if message["type"] == "http.response.start" and own is not None:
                MutableHeaders(scope=message)[HOME_HEADER] = own
            await send(message)

        app = self.app if expected == own else problem(421, "http", "Misdirected", OTHER_HOME)
        await app(scope, receive, send_with_home)
