"""Asking the REST service on this machine how it is, with the standard library alone."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from kg_api.managed.home import Home
from kg_api.managed.ports import holder, is_held_by_kg_of
from kg_api.wording.hosts import HOME_HEADER

MAX_READ = 8_000_000
"""Bytes of an answer."""
OUTDATED: Final = (
    "an older version of kg started the service of the home {home}. Run `kg down`, then `kg up`. Nothing was "
    "changed."
)


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
    outdated: bool = False
    """Whether an older version of kg started it, which does not prove its home."""


class OtherHomeError(OSError):
    """Another program answers than a service of the expected home."""


def ask_ready(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    home: Home | None = None,
    timeout: float = 3.0,
) -> ApiAnswer:
    """Ask GET /ready; a service that cannot be reached is not ready.

    Args:
        url: of the service.
        headers: such as a key: a service that requires keys lists its checks only for one of all ontologies.
        home: whose service it has to be; None: any will do.
        timeout: of each step, in seconds.
    """
    sent = {"Accept": "application/json", **(headers or {})}
    instance = home and home.instance()
    try:
        return _understand(*exchange(url, "/ready", sent, timeout=timeout, instance=instance))
    except TimeoutError:
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, which did not answer within {timeout:g} s; it may be busy",
            slow=True,
        )
    except OtherHomeError:
        port = urlsplit(url).port or 0
        if home and is_held_by_kg_of(home.path, port):
            waiting_for = "`kg down` and `kg up`: an older version of kg started the service"
            return ApiAnswer(reached=False, waiting_for=waiting_for, outdated=True)
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, where {holder(port)} answers instead",
        )
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")


def exchange(
    url: str,
    path: str,
    headers: Mapping[str, str],
    *,
    timeout: float,
    body: bytes | None = None,
    instance: str | None = None,
) -> tuple[int, bytes]:
    """Send one request, a POST where there is a body; give the status and what came, at most 8 MB of it.

    Raises:
        OtherHomeError: `instance` names another home than the one that answers.
        OSError, http.client.HTTPException: nothing answers, or not as HTTP does.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
    try:
        method = "GET" if body is None else "POST"
        expected = {HOME_HEADER: instance} if instance else {}
        connection.request(method, f"{parts.path.rstrip('/')}{path}", body, {**headers, **expected})
        response = connection.getresponse()
        if instance and response.headers.get(HOME_HEADER) != instance:
            raise OtherHomeError(url)
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
