"""Finding the service that a command talks to."""

from __future__ import annotations

from kg_api.client import KgClient
from kg_api.errors import ServiceUnreachable
from kg_api.managed.home import Home
from kg_api.settings import load_settings


def open_client() -> KgClient:
    """Give a client of the service that KG_API_URL names, else of the one `kg up` started here.

    Raises:
        ServiceUnreachable: neither is known.
        ConfigurationError: a setting is wrong.
    """
    settings = load_settings()
    url = settings.api_url or Home(settings.home).api_url()
    if url is None:
        raise ServiceUnreachable(
            f"kg was never started with the home {settings.home}. Start it with `kg up`, or say where it is: "
            "KG_API_URL for a service elsewhere, KG_HOME for another home."
        )
    return KgClient(url, api_key=settings.api_key.get_secret_value() if settings.api_key else None)
