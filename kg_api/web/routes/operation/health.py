"""Whether the service lives, and whether it can do its work."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from kg_api import __version__
from kg_api.bootstrap import Container
from kg_api.errors import KgError
from kg_api.graph.database import Graph
from kg_api.graph.indexes import index_states
from kg_api.graph.naming.reach import reaching
from kg_api.graph.search.passages import TEXT_INDEX
from kg_api.graph.spaces.registry import Space, all_spaces
from kg_api.models.health import Check, Health, Readiness
from kg_api.spaces.first import space_of_new
from kg_api.spaces.images.open_space import OpenImageSpace
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.plans import EmbeddingState, read_embedding_states
from kg_api.web.access.door import asking
from kg_api.web.health.queue import QueueWatch
from kg_api.web.opening import Opening

DEGRADING = frozenset({"model", "disk"})
"""Checks that may fail while searches are answered all the same."""

router = APIRouter(tags=["health"])


@router.head("/health", include_in_schema=False)
@router.get("/health", summary="Liveness check")
async def health(request: Request) -> Health:
    """Answer as long as the process does; what is wrong around it is told in `notes`."""
    around = request.app.state.surroundings
    return Health(version=__version__, instance=around.instance(), notes=around.notes())


@router.head("/ready", include_in_schema=False)
@router.get("/ready", summary="Readiness check", responses={503: {"model": Readiness}})
def ready(request: Request, response: Response) -> Readiness:
    """Check database, schema, indexes, model and worker, the processes beside this one, and the disk.

    503 until all that searches need is there, when work waits that no worker takes, and while a process dies
    again and again. If keys are required, only a key for all ontologies sees the checks. Other requests get
    `ready` and the kind of part in `waiting_for`.
    """
    around = request.app.state.surroundings.checks()
    readiness = shown_readiness(request, around)
    if not readiness.ready:
        response.status_code = 503
    return readiness


def shown_readiness(request: Request, around: Sequence[Check] = ()) -> Readiness:
    """Check all parts, and hide the names of spaces and models unless the sender may see all ontologies."""
    with reaching(None):  # whether the service is ready does not depend on the key
        readiness = readiness_of(request.app.state.opening, request.app.state.queue, around)
    return readiness if asking(request).ontologies is None else without_names(readiness)


def without_names(readiness: Readiness) -> Readiness:
    blocking = next((each.name for each in readiness.checks if _blocks(each)), None)
    part = {None: "the service to open", "worker": "a worker", "processes": "a process that keeps dying"}
    waiting_for = None if readiness.ready else part.get(blocking, "an index")
    return Readiness(ready=readiness.ready, waiting_for=waiting_for)


def _blocks(check: Check) -> bool:
    return not check.ok and check.name not in DEGRADING


def readiness_of(opening: Opening, queue: QueueWatch, around: Sequence[Check] = ()) -> Readiness:
    """Check all parts.

    A missing model leaves the service ready, for it searches by full text then; so does a full disk.
    """
    if reason := opening.waiting_for():
        return Readiness(ready=False, waiting_for=reason, checks=[*around])
    try:
        container = opening.container()
        graph = container.graph
        states, new = [*read_embedding_states(graph).values()], space_of_new(all_spaces(graph))
        checks = [*_index_checks(graph, states, new), *_model_checks(container, states, new)]
        checks += [queue.check(), *around]
    except KgError as error:
        return Readiness(ready=False, waiting_for=str(error), checks=[*around])
    blocking = [*filter(_blocks, checks)]
    waiting_for = blocking[0].detail if blocking else None
    return Readiness(ready=not blocking, waiting_for=waiting_for, checks=checks)


def _index_checks(graph: Graph, states: Sequence[EmbeddingState], new: Space) -> list[Check]:
    """The indexes that searches use now; one that is being built beside is nobody's concern yet."""
    wanted = {TEXT_INDEX, new.index_name, *(each.answering.space.index_name for each in states)}
    wanted |= {plan.space.image_index_name for each in states for plan in each.image_plans[:1]}
    there = index_states(graph)
    checks: list[Check] = []
    for name in sorted(wanted):
        if state := there.get(name):
            told = f"index {name} is {state.state.lower()}, {state.percent:.0f} % populated"
            checks.append(Check(name=name, ok=state.online, detail=told))
        else:
            checks.append(Check(name=name, ok=False, detail=f"index {name} is not there"))
    return checks


def _model_checks(container: Container, states: Sequence[EmbeddingState], new: Space) -> list[Check]:
    """The model of new ontologies, and what is known of others that searches use: none is loaded for it."""
    first = container.spaces.of(new)
    used = {each.answering.space.slug: each.answering.space for each in states}
    others = [container.spaces.of(used[slug]) for slug in sorted(used) if slug != first.space.slug]
    seeing = {plan.space.slug: plan.space for each in states for plan in each.image_plans}
    images = [container.image_spaces.of(seeing[slug]) for slug in sorted(seeing)]
    return [
        *seeing_checks(images),
        _model_check(first.problem(), "full text only", first.space.identity.model),
        *_troubles(others, "full text only"),
    ]


def _troubles(opened: Sequence[OpenSpace | OpenImageSpace], effect: str) -> list[Check]:
    told = ((each.space.slug, each.trouble()) for each in opened)
    return [
        _model_check(trouble, f"{effect} in the space {slug!r}", "")
        for slug, trouble in told
        if trouble is not None
    ]


def seeing_checks(images: Sequence[OpenImageSpace]) -> list[Check]:
    """The models that see, in the spaces of pictures that are used: which they are, or what is wrong."""
    well = (each.space for each in images if each.trouble() is None)
    told = [f"{space.identity.model}, of pictures in the space {space.slug!r}" for space in well]
    return [
        *_troubles(images, "pictures by their words only"),
        *(Check(name="model", ok=True, detail=each) for each in told),
    ]


def _model_check(problem: str | None, effect: str, model: str) -> Check:
    if problem is not None:
        return Check(name="model", ok=False, detail=f"{effect}: {problem}")
    return Check(name="model", ok=True, detail=model)
