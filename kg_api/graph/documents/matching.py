"""The documents that fit the conditions of a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph, Row
from kg_api.graph.documents.metadata import TIMES, VALUES
from kg_api.models.library.moments import Moment, moment, year
from kg_api.models.queries.filters import KNOWN_FIELDS, Condition
from kg_api.models.queries.search import Degradation
from kg_api.wording.nearest import suggestion

MAX_FIELDS_READ = 5000
_OPERATORS: Final = {"=": "in", "!=": "not in"}


def matching_documents(
    graph: Graph,
    where: Sequence[Condition],
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None = None,
) -> dict[str, list[str]]:
    """The ids of documents for which all conditions hold, by ontology, in the order of their names.

    Args:
        graph: where they are.
        where: the conditions.
        ontologies: only of these; None: of all.
        document_ids: only these; None: all.
    """
    within = {"ontologies": _listed(ontologies), "document_ids": _listed(document_ids)}
    rows = graph.read("documents/matching", conditions=[*map(_parameters, where)], **within)
    known = {row["ontology"]: row["document_ids"] for row in rows}
    return {name: ids for name, ids in known.items() if ontologies is None or name in ontologies}


def describe_unknown_fields(
    graph: Graph, where: Sequence[Condition], ontologies: Sequence[str] | None
) -> list[Degradation]:
    """That no document has a field; for filters that found nothing, or ask for what is not so.

    Raises:
        InvalidInput: there is one that is spelt nearly so.
    """
    asked = [each.key for each in where if each.key is not None]
    if not asked:
        return []
    rows = graph.read("documents/fields", ontologies=_listed(ontologies), limit=MAX_FIELDS_READ)
    known = [row["field"] for row in rows]
    unknown = [key for key in dict.fromkeys(asked) if key not in known]
    for key in unknown:
        if near := suggestion(key, [*known, *KNOWN_FIELDS]):
            raise InvalidInput(f"no document has the field {key!r}{near}")
    return [Degradation(part="query", effect=f"no document has the field {key!r}") for key in unknown]


def asks_for_absence(where: Sequence[Condition]) -> bool:
    """Whether a document without a field may fit."""
    return any(each.op == "!=" or (each.op == "exists" and each.value is False) for each in where)


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _parameters(condition: Condition) -> Row:
    key, known = condition.key, condition.field
    spans = [] if condition.op in {"contains", "exists"} else [*map(_span, condition.values)]
    op: str = _OPERATORS.get(condition.op, condition.op)
    return {
        "op": "missing" if condition.op == "exists" and condition.value is False else op,
        "property": known if key is None else f"{VALUES}{key}",
        "times": known if key is None else f"{TIMES}{key}",
        "values": condition.values,
        "spans": [{"start": each.start, "until": each.until} for each in spans if each],
    }


def _span(value: Any) -> Moment | None:
    if isinstance(value, str):
        return moment(value)
    return year(value) if isinstance(value, int) and not isinstance(value, bool) else None
