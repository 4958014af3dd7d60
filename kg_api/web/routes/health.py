"""Whether the service lives, and whether it can do its work."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from kg_api import __version__
from kg_api.bootstrap import Container
from kg_api.errors import KgError
from kg_api.graph.indexes import index_states
from kg_api.graph.spaces import list_spaces
from kg_api.models.health import Check, Health, Readiness
from kg_api.search.service import TEXT_INDEX
from kg_api.web.opening import Opening

router = APIRouter(tags=["health"])


@router.get("/health", summary="Is the process alive?")
async def health() -> Health:
    """Answer as long as the process does."""
    return Health(version=__version__)


@router.get("/ready", summary="Can it do its work?", responses={503: {"model": Readiness}})
def ready(request: Request, response: Response) -> Readiness:
    """Check database, schema, indexes and model. 503 until all that searches need is there."""
    opening: Opening = request.app.state.opening
    readiness = readiness_of(opening)
    if not readiness.ready:
        response.status_code = 503
    return readiness


def readiness_of(opening: Opening) -> Readiness:
    """Check all parts; a missing model alone leaves the service ready, for it searches by full text then."""
    if reason := opening.waiting_for():
        return Readiness(ready=False, waiting_for=reason)
    try:
        container = opening.container()
        checks = [*_index_checks(container), _model_check(container)]
    except KgError as error:
        return Readiness(ready=False, waiting_for=str(error), checks=[])
    blocking = [check for check in checks if not check.ok and check.name != "model"]
    waiting_for = blocking[0].detail if blocking else None
    return Readiness(ready=not blocking, waiting_for=waiting_for, checks=checks)


def _index_checks(container: Container) -> list[Check]:
    states = index_states(container.graph)
    wanted = {TEXT_INDEX, *(space.index_name for space in list_spaces(container.graph))}
    missing = wanted - states.keys()
    there = [
        Check(
            name=name,
            ok=state.online,
            detail=f"index {name} is {state.state.lower()}, {state.percent:.0f} % populated",
        )
        for name, state in states.items()
    ]
    return [
        *there,
        *(Check(name=name, ok=False, detail=f"index {name} is not there") for name in sorted(missing)),
    ]


def _model_check(container: Container) -> Check:
    first = container.spaces.get()
    if problem := first.problem():
        return Check(name="model", ok=False, detail=f"full text only: {problem}")
    return Check(name="model", ok=True, detail=first.space.identity.model)
