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
    """Yield a browser without a session. It has its own address, so that failures are not counted
    together."""
    number = next(_HOSTS)
    address = f"198.51.{number // 250}.{number % 250 + 1}"
    headers = {"X-Forwarded-For": address}
    with httpx.Client(base_url=service.url, timeout=60, headers=headers) as client:
        yield client


def sign_in(client: httpx.Client, key: str, **more: str) -> httpx.Response:
    return client.post("/ui/login", data={"key": key, **more})


@contextmanager
def signed_in(service: Service, key: str) -> Generator[httpx.Client]:
    with browser(service) as client:
        answer = sign_in(client, key)
        assert answer.status_code == 303, answer.text
        yield client


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]{64})"', page.text)
    assert found, page.text
    return found[1]


def session_of(client: httpx.Client) -> str:
    return client.cookies[cookie_of(client)]


def cookie_of(client: httpx.Client) -> str:
    """Return the name of the cookie. It contains the port, because cookies are shared by all ports of a
    host."""
    return f"{COOKIE}_{client.base_url.port}"


def knock_at_page(client: httpx.Client, route: str, **headers: str) -> httpx.Response:
    """Request something that does not exist. If this is a form, it has all required fields."""
    method, path = route.split(" ")
    path = path.replace("{", "no-").replace("}", "")
    form = None
    if method != "GET" and cookie_of(client) in client.cookies:
        form = {"csrf_token": token_in(client.get("/ui/search"))}
    return client.request(method, path, data=form, headers=headers)
