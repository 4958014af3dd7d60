"""Asking the REST service on this machine how it is, with the standard library alone."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

MAX_READ = 8_000_000
"""Bytes of an answer."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the service said of itself."""

    reached: bool
    ready: bool = False
    waiting_for: str | None = None
    serves: bool = False
    """Whether it can do its own work; it may still not be ready, for jobs wait that no worker takes."""
    slow: bool = False
    """Whether it was there and did not answer in time: it may be busy, and nothing is known."""


def ask_ready(url: str, *, timeout: float = 3.0) -> ApiAnswer:
    """Ask GET /ready; one that cannot be reached is not ready."""
    try:
        return _understand(*exchange(url, "/ready", {"Accept": "application/json"}, timeout=timeout))
    except TimeoutError:
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, which did not answer within {timeout:g} s; it may be busy",
            slow=True,
        )
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")


def exchange(
    url: str, path: str, headers: Mapping[str, str], *, timeout: float, body: bytes | None = None
) -> tuple[int, bytes]:
    """Send one request, a POST where there is a body; give the status and what came, at most 8 MB of it.

    Raises:
        OSError, http.client.HTTPException: nothing answers, or not as HTTP does.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, f"{parts.path.rstrip('/')}{path}", body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read(MAX_READ)
    finally:
        connection.close()


def _understand(status: int, body: bytes) -> ApiAnswer:
    try:
        said: Any = json.loads(body)
        waiting_for = said.get("waiting_for")
    except (ValueError, AttributeError):
        return ApiAnswer(reached=True, waiting_for=f"the service, which answers HTTP {status}")
    ready = status == HTTPStatus.OK
    return ApiAnswer(
        reached=True,
        ready=ready,
        waiting_for=None if ready else str(waiting_for or "the service"),
        serves=ready or _lacks_workers_alone(said),
    )


def _lacks_workers_alone(said: dict[str, Any]) -> bool:
    try:
        missing = {check["name"] for check in said["checks"] if not check["ok"]}
    except (KeyError, TypeError):
        return False
    return not missing.isdisjoint({"worker", "processes"}) and missing <= {
        "worker",
        "model",
        "disk",
        "processes",
    }
