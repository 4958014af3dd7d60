"""A request that names no ontology asks of all that whoever sends it may see."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from kg_api.graph.naming.reach import looked_into

Request = TypeVar("Request", bound=BaseModel)


def narrowed(asked: Request) -> Request:
    """The same request, of ontologies that can be seen alone.

    Args:
        asked: has a field `ontology`, of one name or several, or `ontologies`; null: all.

    Raises:
        Forbidden: it names one that cannot be seen.
    """
    field = "ontology" if "ontology" in type(asked).model_fields else "ontologies"
    given = getattr(asked, field)
    named = [given] if isinstance(given, str) else given
    seen = looked_into(named)
    return asked if named is not None or seen is None else asked.model_copy(update={field: seen})
