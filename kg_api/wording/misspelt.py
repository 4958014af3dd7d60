"""Variables that are meant for kg and that kg does not know: a typo in them must not pass unseen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

PREFIX = "KG_"
OF_OTHERS = ("KG_TEST_",)
"""Read by the tests."""
NEAR = 0.8
"""How like a known name one without a group must be: other programs may have variables that begin so. Not by
`nearest`: it finds one word of several too, so that it would take KG_LOG or KG_WORKER_1_HOST for misspelt
settings."""
_OF_KUBERNETES = re.compile(
    r"\w+_SERVICE_(HOST|PORT(_\w+)?)=.*"
    r"|\w+_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=.*"
    r"|\w+_PORT=(tcp|udp|sctp)://.*"
)
"""Kubernetes sets these for each Service: for one named kg-api, KG_API_PORT is an address."""
PROVIDERS = ("OPENAI_", "NOMIC_", "COHERE_")
"""The SDKs of these providers read further names, so only a name that resembles a setting is rejected."""


def complaints(environment: Mapping[str, str | None], known: Iterable[str]) -> Iterator[str]:
    """Say which variables look like settings and are none, each with the nearest that is.

    Args:
        environment: all variables.
        known: the names of all settings.
    """
    names = sorted(known)
    groups = {name.split("__")[0] for name in names if "__" in name}
    for name, value in sorted(environment.items()):
        variable = name.upper()
        if variable.startswith(PROVIDERS) and variable not in names:
            yield from _describe_provider_typo(variable, names)
        if not variable.startswith(PREFIX) or variable in names or variable.startswith(OF_OTHERS):
            continue
        group, _, rest = variable.partition("__")
        unknown_group = bool(rest) and group not in groups  # a known group tells of its own wrong names
        injected = _OF_KUBERNETES.fullmatch(f"{variable}={value or ''}")
        near_miss = not rest and not injected and bool(_nearest(variable, names))
        if unknown_group or near_miss:
            yield describe_unknown(variable, names)


def _describe_provider_typo(variable: str, names: Sequence[str]) -> Iterator[str]:
    """Compare without the shared prefix, which would make all names of a provider look alike."""
    prefix, _, rest = variable.partition("_")
    own = [name.removeprefix(f"{prefix}_") for name in names if name.startswith(f"{prefix}_")]
    for meant in _nearest(rest, own):
        yield f"{variable}: there is no such setting; did you mean {prefix}_{meant}?"


def describe_unknown(variable: str, known: Iterable[str]) -> str:
    """Say that there is no such setting, and which may be meant."""
    nearest = _nearest(variable, sorted(known))
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    return f"{variable}: there is no such setting{hint}"


def _nearest(variable: str, names: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(variable, names, n=1, cutoff=NEAR)
