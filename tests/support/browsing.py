"""What a browser sends to the pages of a service."""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator
from contextlib import contextmanager

import httpx

from kg_api.web.shared.security import COOKIE
from tests.support.running import Service

_HOSTS = itertools.count(1)


@contextmanager
def browser(service: Service) -> Generator[httpx.Client]:
    """A browser that nobody has signed in with, at an address of its own: what fails there counts there."""
    number = next(_HOSTS)
    address = f"198.51.{number // 250}.{number % 250 + 1}"
    headers = {"X-Forwarded-For": address}
    with httpx.Client(base_url=service.url, timeout=60, headers=headers) as client:
        yield client


def sign_in(client: httpx.Client, key: str, **more: str) -> httpx.Response:
    """Send the form of a key; what came."""
    return client.post("/ui/login", data={"key": key, **more})


@contextmanager
def signed_in(service: Service, key: str) -> Generator[httpx.Client]:
    """A browser that somebody has signed in with."""
    with browser(service) as client:
        answer = sign_in(client, key)
        assert answer.status_code == 303, answer.text
        yield client


def token_in(page: httpx.Response) -> str:
    """What forms of a page bring."""
    found = re.search(r'name="csrf_token" value="([0-9a-f]{64})"', page.text)
    assert found, page.text
    return found[1]


def session_of(client: httpx.Client) -> str:
    """What its cookie holds."""
    return client.cookies[cookie_of(client)]


def cookie_of(client: httpx.Client) -> str:
    """How its cookie is called: a browser keeps those of all ports of a host together."""
    return f"{COOKIE}_{client.base_url.port}"


def knock_at_page(client: httpx.Client, route: str, **headers: str) -> httpx.Response:
    """Ask for a page of something that is not there; a form brings what it must."""
    method, path = route.split(" ")
    path = path.replace("{", "no-").replace("}", "")
    form = None
    if method != "GET" and cookie_of(client) in client.cookies:
        form = {"csrf_token": token_in(client.get("/ui/search"))}
    return client.request(method, path, data=form, headers=headers)
