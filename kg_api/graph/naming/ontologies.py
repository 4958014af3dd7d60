"""Which ontologies there are, and which are nearest to one that is not there.

To whoever may see some ontologies alone there are no others.
"""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Reader
from kg_api.graph.naming.reach import looked_into, reach, reaches
from kg_api.wording.nearest import no_ontology
from kg_api.wording.plural import pluralize


def names_of_ontologies(graph: Reader) -> list[str]:
    """All that can be seen, in order."""
    return [row["ontology"] for row in graph.read("ontologies/names") if reaches(row["ontology"])]


def searched(graph: Reader, ontologies: Sequence[str] | None) -> list[str] | None:
    """The ontologies that are searched: those named, else those that can be seen and are there; None: all.

    Raises:
        Forbidden: one that is named cannot be seen.
    """
    if ontologies is None and (seen := reach()) is not None:
        return names_of_ontologies(graph) or seen
    return looked_into(ontologies)


def unknown_ontology(graph: Reader, ontology: str | Sequence[str]) -> NotFound:
    """The error that says which ontologies are nearest to one that is not there."""
    wanted = [ontology] if isinstance(ontology, str) else ontology
    told = no_ontology(wanted, names_of_ontologies(graph)) + describe_waiting(graph, wanted)
    return NotFound(f"{told}; `kg ontologies` lists the existing ones")


def require_ontologies(graph: Reader, ontologies: str | Sequence[str] | None) -> None:
    """Require that every ontology which a list or a deletion is filtered by exists; None: no filter.

    Raises:
        NotFound: one does not; the message suggests the closest names.
    """
    wanted = [ontologies] if isinstance(ontologies, str) else ontologies
    names = names_of_ontologies(graph) if wanted else []
    if missing := [each for each in wanted or () if each not in names]:
        raise unknown_ontology(graph, missing)


def note_on_ontologies(graph: Graph, ontologies: Sequence[str] | None) -> list[str]:
    """Describe the ontologies that do not exist, for requests to which that is no error."""
    names = names_of_ontologies(graph) if ontologies else []
    missing = [each for each in ontologies or () if each not in names]
    return [no_ontology(each, names) + describe_waiting(graph, [each]) for each in missing]


def describe_waiting(graph: Reader, ontologies: Sequence[str]) -> str:
    """The clause that documents wait for approval in ontologies that are not there yet; or empty."""
    rows = graph.read("waiting/count", ontologies=reach())
    told = [
        f"; {pluralize(row['waiting'], 'document')} of {row['ontology']} "
        f"{'waits' if row['waiting'] == 1 else 'wait'} for approval (kg documents waiting)"
        for row in rows
        if row["ontology"] in ontologies
    ]
    return "".join(told)
