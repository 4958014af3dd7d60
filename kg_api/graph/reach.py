"""Which ontologies whoever asks may see: to them there are no others.

It goes with the request, as its id in the log does, into every thread that handles it. The worker and
commands act for nobody and see all. The service calls `fail_without_caller` when it starts: from then on a
thread that has lost its request fails, where it would have seen all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from kg_api.errors import Forbidden

MAX_TOLD = 5
_REACH: Final[ContextVar[tuple[str, ...] | None]] = ContextVar("reach")
_needs_caller = False


def fail_without_caller() -> None:
    """From now on, let only what is done within `reaching` read what a key may hide."""
    global _needs_caller  # noqa: PLW0603 - of the process, which serves requests from now on
    _needs_caller = True


@contextmanager
def reaching(ontologies: Iterable[str] | None) -> Generator[None]:
    """Let what is done within see some ontologies only; None: all."""
    token = _REACH.set(None if ontologies is None else tuple(sorted(ontologies)))
    try:
        yield
    finally:
        _REACH.reset(token)


def reach() -> list[str] | None:
    """Return the ontologies that can be seen, by name; None: all."""
    try:
        found = _REACH.get()
    except LookupError:
        if _needs_caller:
            raise RuntimeError("for whom? run this within `reaching`, or in a copy of its context") from None
        return None
    return None if found is None else list(found)


def reaches(ontology: str | None) -> bool:
    """Return whether an ontology can be seen; None: what concerns all is seen by whoever sees all."""
    return (found := reach()) is None or ontology in found


def within(ontology: str | None) -> list[str] | None:
    """Return the named ontology, or all visible ones; None: all."""
    return looked_into(None if ontology is None else [ontology])


def looked_into(ontologies: Sequence[str] | None) -> list[str] | None:
    """As `within`, of several that are named."""
    if ontologies is None:
        return reach()
    require(*ontologies)
    return list(ontologies)


def require(*ontologies: str) -> None:
    """Refuse what names an ontology that cannot be seen, whether it is there or not."""
    outside = [each for each in dict.fromkeys(ontologies) if not reaches(each)]
    if outside:
        own = ", ".join(map(repr, reach() or ()))
        raise Forbidden(
            f"this key is for {own} alone, and not for {', '.join(map(repr, outside[:MAX_TOLD]))}: ask an "
            "administrator for another"
        )
