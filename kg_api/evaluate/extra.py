"""What measuring needs beyond kg's own packages; reading and comparing what was measured needs none of it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from kg_api.errors import ConfigurationError

HOW: Final = "in kg's checkout: .venv/bin/python -m pip install '.[eval]'"


def missing(error: ImportError) -> ConfigurationError:
    """Say how to get it."""
    return ConfigurationError(
        f"the packages for evaluation are not installed ({error.name} is missing); {HOW}"
    )


def can_measure() -> bool:
    """Whether answers can be scored here; pictures beside results need more."""
    try:
        return find_spec("ir_measures") is not None
    except ValueError:  # it is kept from being imported
        return False
