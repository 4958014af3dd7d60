"""Whether the service answers anybody without a key."""

from __future__ import annotations

import structlog

from kg_api.errors import ConfigurationError
from kg_api.settings import ApiSettings
from kg_api.wording.hosts import is_loopback

log = structlog.get_logger()


def keys_required(settings: ApiSettings) -> bool:
    """As the settings say; else where others than this machine reach it.

    Raises:
        ConfigurationError: they reach it, and the settings say no.
    """
    if is_loopback(settings.host):
        return bool(settings.require_keys)
    if settings.require_keys is False:
        raise ConfigurationError(
            f"KG_API__HOST={settings.host} listens beyond this machine, where nobody is answered without "
            "a key: unset KG_API__REQUIRE_KEYS, or listen on 127.0.0.1"
        )
    return True


def warn_if_open(settings: ApiSettings) -> None:
    """Say so where others seem to reach a service that asks for no key, as through a proxy."""
    names = [each for each in settings.allowed_host_names if not is_loopback(each)]
    if names and settings.require_keys is None and is_loopback(settings.host):
        log.warning(
            "others reach this service by a name, and it asks nobody for a key: set "
            "KG_API__REQUIRE_KEYS=true, or false where what stands before it keeps strangers out",
            names=names,
        )
