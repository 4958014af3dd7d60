"""What switching a space of texts and one of pictures have in common."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kg_api.configure.embedding import EmbeddingRequests
from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.configuration import (
    StoredConfiguration,
    hold_configurations,
    hold_spaces,
    set_space_of_new,
    space_of_new,
    space_of_new_before,
    write_configuration,
)
from kg_api.models.embedding.switching import SpaceCheck, SpaceSwitched, SwitchedOntology
from kg_api.models.vocabulary import Modality
from kg_api.spaces.plans import read_embedding_states


def require_ok(found: SpaceCheck) -> None:
    """Refuse to let answer what the check found wrong.

    Raises:
        Conflict: saying what.
    """
    if not found.ok:
        wrong = "; ".join(each.detail for each in found.findings if not each.ok)
        raise Conflict(f"{found.slug} cannot be activated yet: {wrong}")


def switch_to(graph: Graph, slug: str, let_answer: Callable[[Transaction], None], *, new: bool) -> float:
    """Let a space answer, and new ontologies use it if that is wanted; seconds of the transaction."""

    def switch(tx: Transaction) -> None:
        hold_spaces(tx, [slug])
        let_answer(tx)
        if new:
            set_space_of_new(tx, slug)

    return _time(graph, switch)


@dataclass(frozen=True, slots=True)
class WayBack:
    """How an ontology goes back."""

    present: StoredConfiguration
    anew: StoredConfiguration
    space: str
    """That answers then."""


def switch_back(
    graph: Graph, slug: str, back: Mapping[str, WayBack], *, new: bool, modality: Modality = "text"
) -> float:
    """Let what answered before a space answer again; new ontologies get the one back that was theirs.

    Where that has gone they get the one of most of these.

    Returns:
        Seconds of the transaction.

    Raises:
        Conflict: an ontology was configured anew meanwhile.
    """
    commonest = Counter(each.space for each in back.values()).most_common(1)[0][0]
    before = space_of_new_before(graph, slug) or commonest

    def switch(tx: Transaction) -> None:
        hold_spaces(tx, {before, *(each.space for each in back.values())})
        held = hold_configurations(tx, [*back])
        if any(held.get(name) not in (each.present, each.anew) for name, each in back.items()):
            raise Conflict("an ontology was reconfigured in the meantime: check, and try again")
        for name, each in back.items():
            write_configuration(tx, name, each.anew)
        if new and space_of_new(graph, modality) == slug:
            set_space_of_new(tx, before)

    return _time(graph, switch)


def begin_again(graph: Graph, requests: EmbeddingRequests, names: Iterable[str]) -> list[str]:
    """Have embedded what is due of ontologies that went back; what was begun."""
    now = read_embedding_states(graph)
    return [f"{name}: {note}" for name in names if name in now for note in requests.begun(now[name])]


def present_ontologies(switched: Mapping[str, tuple[str, str]]) -> list[SwitchedOntology]:
    """By ontology, the space before and the one after."""
    return [
        SwitchedOntology(ontology=name, before=before, now=now) for name, (before, now) in switched.items()
    ]


def present_switched(
    graph: Graph,
    slug: str,
    switched: Mapping[str, tuple[str, str]],
    seconds: float,
    *,
    modality: Modality = "text",
    notes: Iterable[str] = (),
) -> SpaceSwitched:
    """What was switched: by ontology, the space before and the one now."""
    return SpaceSwitched(
        slug=slug,
        ontologies=present_ontologies(switched),
        space_of_new=space_of_new(graph, modality),
        seconds=seconds,
        notes=[
            "searches that began before go on as they were for up to a second",
            *_note_given_up(slug, switched),
            *notes,
        ],
    )


def _note_given_up(slug: str, switched: Mapping[str, tuple[str, str]]) -> list[str]:
    names = [name for name, (before, now) in switched.items() if before == now != slug]
    return [f"{', '.join(names)}: the build in {slug} was given up, nothing else changed"] if names else []


def _time(graph: Graph, switch: Callable[[Transaction], None]) -> float:
    begun = time.perf_counter()
    graph.transaction(switch)
    return round(time.perf_counter() - begun, 3)
