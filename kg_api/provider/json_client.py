"""Providers that are asked by plain HTTP: JSON there, or a form with files, and JSON back."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from kg_api.provider.classify import ErrorReply, read_error_body
from kg_api.provider.edge import Edge
from kg_api.provider.http import bounded_client
from kg_api.provider.service import Provider


class JsonClient:
    """Posts to one path of a provider, with its key where there is one."""

    def __init__(self, provider: Provider, path: str) -> None:
        self._edge = Edge(provider, httpx)
        self._url = f"{provider.address.rstrip('/')}{path}"
        headers = {"Authorization": f"Bearer {provider.secret}"} if provider.secret else {}
        self._client: httpx.Client = bounded_client(httpx, headers=headers)

    def post(self, body: dict[str, object], seconds: float) -> httpx.Response:
        """Send one request and give the reply, whatever its status; see `Edge.send` for what it raises."""
        return self._edge.send(lambda: self._client.post(self._url, json=body, timeout=seconds))

    def post_form(
        self, fields: dict[str, str], files: Sequence[tuple[str, tuple[str, bytes, str]]], seconds: float
    ) -> httpx.Response:
        """Send a form with files, each by its field, name, content and type; else as `post`."""
        return self._edge.send(
            lambda: self._client.post(self._url, data=fields, files=list(files), timeout=seconds)
        )

    def read(self, response: httpx.Response, sent: Sequence[str]) -> object:
        """Give a reply's JSON; None when it is none.

        Raises:
            RetryableError, KgError: its status is not success; see `Edge.send`.
        """
        try:
            body: object = response.json()
        except (ValueError, RecursionError):  # brackets within brackets
            body = None
        failure = (
            read_error_body(response.headers, body)
            if response.is_success
            else ErrorReply.read(response.status_code, response.headers, body)
        )
        if failure is not None:
            raise self._edge.refusal(failure, sent)
        return body

    def close(self) -> None:
        self._client.close()
