"""Packages that come with kg only where they are asked for."""

from __future__ import annotations

from kg_api.errors import ConfigurationError


def missing(extra: str) -> ConfigurationError:
    """The error for a provider whose packages are not installed."""
    return ConfigurationError(
        f"the packages for {extra} are not installed; in kg's checkout: "
        f".venv/bin/python -m pip install '.[{extra}]', then `kg down` and `kg up`"
    )
