"""What kg was started with, to tell which settings wait for its next start. No value is kept plain."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterator

from pydantic import BaseModel, SecretStr

from kg_api.managed import files
from kg_api.managed.home import Home
from kg_api.settings import Settings, variable_of

_SALT_BYTES = 16
_OF_THE_HOME = "KG_HOME"
"""Says which kg is meant, and so never differs."""


def remember(home: Home, settings: Settings) -> None:
    """Keep what is started with now, as hashes that only this file can be compared with."""
    salt = secrets.token_hex(_SALT_BYTES)
    hashes = {name: _hash(salt, value) for name, value in _values(settings)}
    files.write_json(home.started_with_file, {"salt": salt, "settings": hashes})


def differing(home: Home, settings: Settings, variables: Collection[str]) -> list[str]:
    """Those of some variables by which a running kg was not started; none where that is not known."""
    known = files.read_json(home.started_with_file)
    salt, hashes = known.get("salt"), known.get("settings")
    if not isinstance(salt, str) or not isinstance(hashes, dict):
        return []
    given = {*variables} - {_OF_THE_HOME}
    return [
        name for name, value in _values(settings) if name in given and hashes.get(name) != _hash(salt, value)
    ]


def _values(settings: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            yield from _values(value, (*path, name))
        else:
            plain = value.get_secret_value() if isinstance(value, SecretStr) else value
            yield variable_of((*path, name)), repr(plain)


def _hash(salt: str, value: str) -> str:
    return hmac.new(salt.encode(), value.encode(), hashlib.sha256).hexdigest()
