"""Asking the REST service on this machine how it is, with the standard library alone."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit


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
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/ready", headers={"Accept": "application/json"})
        response = connection.getresponse()
        return _understand(response.status, response.read(1_000_000))
    except TimeoutError:
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, which did not answer within {timeout:g} s; it may be busy",
            slow=True,
        )
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")
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
