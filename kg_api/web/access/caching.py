"""What others than whoever asks may keep of answers: nothing, unless an answer says otherwise itself."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.web.access.scopes import DESCRIBING_KG, is_public

OWN: Final = "private, no-cache"
"""A proxy keeps nothing, and a browser asks before it shows again what it kept."""


class OwnAnswers:
    """Keeps shared caches from what a key or a session was needed for: a cookie alone does not do that."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (is_public(scope["path"]) and scope["path"] not in DESCRIBING_KG):
            await self.app(scope, receive, send)
            return

        async def send_own(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("Cache-Control", OWN)
            await send(message)

        await self.app(scope, receive, send_own)
