"""What evaluation needs beyond kg's own packages."""

from __future__ import annotations

from kg_api.errors import ConfigurationError


def missing(error: ImportError) -> ConfigurationError:
    """Say how to get it."""
    return ConfigurationError(
        f"the packages for evaluation are not installed ({error.name} is missing); in kg's checkout: "
        ".venv/bin/python -m pip install '.[eval]'"
    )
