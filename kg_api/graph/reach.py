"""The ontologies that can be seen by a caller.

A context variable carries them through all threads of a request, like the request id in the log. The worker
and commands act without a caller and see all ontologies. The service calls `fail_without_caller` at its
start. Then a thread without its request context fails instead of seeing everything.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from kg_api.errors import Forbidden

MAX_LISTED = 5
_VISIBLE: Final[ContextVar[tuple[str, ...] | None]] = ContextVar("reach")
_needs_caller = False


def fail_without_caller() -> None:
    """Require `limit_visible_ontologies` for all later reads that a key can restrict."""
    global _needs_caller  # noqa: PLW0603 - of the process, which serves requests from now on
    _needs_caller = True


@contextmanager
def limit_visible_ontologies(ontologies: Iterable[str] | None) -> Generator[None]:
    """Restrict reads in the block to some ontologies. None: all."""
    token = _VISIBLE.set(None if ontologies is None else tuple(sorted(ontologies)))
    try:
        yield
    finally:
        _VISIBLE.reset(token)


def get_visible_ontologies() -> list[str] | None:
    """List the names of visible ontologies. None: all."""
    try:
        found = _VISIBLE.get()
    except LookupError:
        if _needs_caller:
            raise RuntimeError(
                "the visible ontologies are not set. Call within `limit_visible_ontologies`, or in a copy of"
                " its context"
            ) from None
        return None
    return None if found is None else list(found)


def is_visible(ontology: str | None) -> bool:
    """Check if an ontology is visible. None means all, which is only possible for unrestricted callers."""
    return (found := get_visible_ontologies()) is None or ontology in found


def resolve_ontology(ontology: str | None) -> list[str] | None:
    """List the named ontology, or all visible ones. None: all."""
    return resolve_ontologies(None if ontology is None else [ontology])


def resolve_ontologies(ontologies: Sequence[str] | None) -> list[str] | None:
    """Resolve the named ontologies, or all visible ones. None: all."""
    if ontologies is None:
        return get_visible_ontologies()
    require_visible(*ontologies)
    return list(ontologies)


def require_visible(*ontologies: str) -> None:
    """Raise Forbidden for ontologies that are not visible. This does not show if they exist."""
    outside = [each for each in dict.fromkeys(ontologies) if not is_visible(each)]
    if outside:
        own = ", ".join(map(repr, get_visible_ontologies() or ()))
        raise Forbidden(
            f"this key is limited to {own} and cannot see {', '.join(map(repr, outside[:MAX_LISTED]))}. "
            "Ask an administrator for another key"
        )
