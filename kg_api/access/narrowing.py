"""A request that names no ontology asks of all that whoever sends it may see."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from kg_api.graph.database import Reader
from kg_api.graph.naming.ontologies import searched

Request = TypeVar("Request", bound=BaseModel)


def narrowed(graph: Reader, request: Request) -> Request:
    """The same request, of ontologies that can be seen alone.

    Args:
        graph: knows which there are.
        request: has a field `ontology`, of one name or several, or `ontologies`; null: all.

    Raises:
        Forbidden: it names one that cannot be seen.
    """
    field = "ontology" if "ontology" in type(request).model_fields else "ontologies"
    given = getattr(request, field)
    named = [given] if isinstance(given, str) else given
    found = searched(graph, named)
    return request if named is not None or found is None else request.model_copy(update={field: found})
