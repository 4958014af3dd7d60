"""Connection of commands to the service, and their authentication."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.client.connection import KeySource
    from kg_api.settings import Settings


def open_client() -> KgClient:
    """Open a client for KG_API_URL, or for the service that `kg up` started here."""
    from kg_api.settings import load_settings

    settings = load_settings()
    return connect_client(get_service_url(settings), settings)


def get_service_url(settings: Settings) -> str:
    """Return KG_API_URL, or the URL of the service that `kg up` started here."""
    from kg_api.errors import ServiceUnreachable
    from kg_api.local.processes import Home

    if settings.api_url:
        return settings.api_url
    home = Home(settings.home)
    url = home.build_api_url() or next(
        (each.url for each in reversed(home.list_services()) if each.url), None
    )
    if url is None or home.read_instance() is None:
        raise ServiceUnreachable(
            f"kg was never started with the home {settings.home}. Start it with `kg up`, or set KG_API_URL "
            "to the URL of another service, or KG_HOME to another home."
        )
    return url


def hide_credentials(url: str) -> str:
    """Return a URL without credentials and query."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def connect_client(url: str, settings: Settings, **options: Any) -> KgClient:
    """Return a client with the API key of the settings or the key of this home.

    A URL other than KG_API_URL comes from a record of this home. Only a service of this home may answer
    there, because another home may use the port by now.
    """
    from kg_api.client import KgClient
    from kg_api.client.connection import ExpectedHome
    from kg_api.local.processes import Home, describe_holder

    home = Home(settings.home)
    instance = None if url == settings.api_url else home.read_instance()

    def describe_other() -> str:
        port = urlsplit(url).port or 0
        return (
            f"port {port} of this home's kg ({home.path}) is taken by {describe_holder(port)}. Run `kg up`, "
            "or name another service with KG_API_URL."
        )

    expected = None if instance is None else ExpectedHome(instance, describe_other)
    return KgClient(url, api_key=find_api_key(url, settings), expected_home=expected, **options)


def find_api_key(url: str, settings: Settings) -> KeySource:
    """Find the API key of the settings, or a function that proves access to this home.

    None for any URL except that of this home's service, because other services must not get the proof.
    """
    from kg_api.access.proofs import make_proof
    from kg_api.local.processes import Home

    if settings.api_key:
        return settings.api_key.get_secret_value()
    home = Home(settings.home)
    key = home.read_folder_key()
    if key is None or url.rstrip("/").lower() not in {each.url for each in home.list_services()}:
        return None
    return lambda method, path: make_proof(key, time.time(), method, path)


def build_auth_headers(url: str, settings: Settings, method: str, path: str) -> dict[str, str]:
    """Build the headers that authenticate one request, or none for a malformed key."""
    key = find_api_key(url, settings)
    sent = key(method, path) if callable(key) else key
    return {"Authorization": f"Bearer {sent}"} if sent and sent.isascii() and sent.isprintable() else {}


def read_grant(path: str, ontology: str) -> str | None:
    """Return a grant to sync a folder, or None for a service of another home. The key is never sent."""
    from kg_api.local.processes import Home
    from kg_api.schemas.folders import build_folder_grant
    from kg_api.settings import load_settings
    from kg_api.wording import is_loopback

    settings = load_settings()
    home = Home(settings.home)
    key = home.read_folder_key()
    if key is None:
        return None
    parts = urlsplit(settings.api_url or home.build_api_url() or "")
    host, port = parts.hostname or "", parts.port or 80
    is_ours = any(
        port == each.port and (is_loopback(host) or (bool(host) and host == each.host))
        for each in home.list_services()
    )
    return build_folder_grant(key, path, ontology) if is_ours else None
