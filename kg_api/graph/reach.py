"""Which ontologies whoever asks may see: to them there are no others.

It goes with the request, as its id in the log does, into every thread that handles it. What nobody asked for,
such as a worker's jobs, sees all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from kg_api.errors import Forbidden

MAX_TOLD = 5
_REACH: Final[ContextVar[tuple[str, ...] | None]] = ContextVar("reach", default=None)


@contextmanager
def reaching(ontologies: Iterable[str] | None) -> Generator[None]:
    """Let what is done within see some ontologies only; None: all."""
    before = _REACH.set(None if ontologies is None else tuple(sorted(ontologies)))
    try:
        yield
    finally:
        _REACH.reset(before)


def reach() -> list[str] | None:
    """The ontologies that can be seen, by name; None: all."""
    return None if (found := _REACH.get()) is None else list(found)


def reaches(ontology: str | None) -> bool:
    """Whether an ontology can be seen; None: what concerns all is seen by whoever sees all."""
    return (found := _REACH.get()) is None or ontology in found


def within(ontology: str | None) -> list[str] | None:
    """What is looked into: the ontology that is named, else all that can be seen; None: all there are.

    Raises:
        Forbidden: it cannot be seen.
    """
    return looked_into(None if ontology is None else [ontology])


def looked_into(ontologies: Sequence[str] | None) -> list[str] | None:
    """As `within`, of several that are named."""
    if ontologies is None:
        return reach()
    require(*ontologies)
    return list(ontologies)


def require(*ontologies: str) -> None:
    """Refuse what names an ontology that cannot be seen, whether it is there or not.

    Raises:
        Forbidden: naming those that can be.
    """
    outside = [each for each in dict.fromkeys(ontologies) if not reaches(each)]
    if outside:
        own = ", ".join(map(repr, reach() or ()))
        raise Forbidden(
            f"this key is for {own} alone, and not for {', '.join(map(repr, outside[:MAX_TOLD]))}: ask an "
            "administrator for another"
        )
