"""Health of the service: models, queue, processes, disk, and indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.container import Container
from kg_api.errors import KgError
from kg_api.graph.client import Graph
from kg_api.graph.jobs import is_touched, read_queue_status
from kg_api.graph.schema import read_index_states
from kg_api.graph.search import TEXT_INDEX, CachedRead
from kg_api.graph.spaces import Space, read_spaces
from kg_api.local import processes, supervisor
from kg_api.local.neo4j import build_disk_room
from kg_api.local.processes import Home
from kg_api.schemas.operations import Check, QueueStatus, Readiness
from kg_api.settings import Settings
from kg_api.spaces.images import OpenImageSpace
from kg_api.spaces.plans import EmbeddingState, read_embedding_states
from kg_api.spaces.registry import get_default_space
from kg_api.web.shared.opening import StartUp
from kg_api.wording import pluralize

# Queue status for probes and metrics, cached for one second


class QueueWatch:
    """Queue status, cached for one second."""

    def __init__(self, opening: StartUp) -> None:
        self._opening = opening
        self._looking = CachedRead(lambda: read_queue_status(opening.container().graph))

    def status(self) -> QueueStatus:
        """Return the queue status, at most one second old."""
        return self._looking.get()

    def status_if_known(self) -> QueueStatus | None:
        """Get the queue status for metrics, if it is available."""
        try:
            return self.status()
        except KgError:
            return None

    def check(self) -> Check:
        """Check if workers can process the jobs that wait.

        The check passes while the service itself is younger than the limit: after a pause of the machine, the
        worker needs time to start.
        """
        status, container = self.status(), self._opening.container()
        limit = container.settings.api.backlog_seconds
        overdue = min(status.oldest_waiting_seconds, self._opening.up_seconds()) > limit
        if overdue and not is_touched(container.graph, within_seconds=limit):
            return Check(name="worker", ok=False, detail=_describe_idle(status))
        detail = f"{status.running} jobs running, {status.queued} queued, {pluralize(status.alive, 'worker')}"
        return Check(name="worker", ok=True, detail=detail)


def _describe_idle(status: QueueStatus) -> str:
    waiting = f"a job has been waiting for {status.oldest_waiting_seconds:.0f} s without a free worker"
    if status.alive:
        return f"{waiting}, although {status.alive} are running. Check their version and their logs"
    return f"{waiting}, but no worker is running. Start one with `kg up`, or with `kg worker` on a server"


# Processes and disk

GIB = 1024**3
PASSING_DEATHS = 2
"""Number of times that a process can die before the service is not ready. To restart once is quick."""


class ProcessHealth:
    """Supervisor and disk in the home that is used by this service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._home = Home(settings.home)

    def checks(self) -> list[Check]:
        """List the checks for processes and disk that can be used here."""
        return [check for check in (self._processes(), self._disk()) if check is not None]

    def instance(self) -> str | None:
        """Get the id of the home. None if the home is not writable."""
        return self._home.read_instance()

    def notes(self) -> list[str]:
        """Return the details of failed checks."""
        return [check.detail for check in self.checks() if not check.ok]

    def _processes(self) -> Check | None:
        """Check if processes keep dying. None if the supervisor belongs to another stack."""
        uri = self._settings.neo4j.uri or self._home.build_bolt_uri()
        said = supervisor.read(self._home)
        if said.neo4j_uri != uri or processes.load(self._home.get_pid_file("supervisor")) is None:
            return None
        dying = {name: told for name, told in said.roles.items() if supervisor.describe_trouble(name, told)}
        grave = any(told.state == "failed" or told.deaths >= PASSING_DEATHS for told in dying.values())
        waits = "; ".join(supervisor.describe_trouble(name, told) or "" for name, told in dying.items())
        restarts = sum(told.restarts for told in said.roles.values())
        return Check(
            name="processes", ok=not grave, detail=waits or f"all running, {pluralize(restarts, 'restart')}"
        )

    def _disk(self) -> Check | None:
        if self._settings.neo4j.uri is not None:
            return None
        room = build_disk_room(self._home, self._settings)
        shortage = room.describe_shortage()
        little = ", which is little" if room.is_little() else ""
        detail = shortage or f"{room.free_bytes() / GIB:.1f} GiB left for the database{little}"
        return Check(name="disk", ok=shortage is None, detail=detail)


# Readiness

DEGRADING = frozenset({"model", "disk"})
"""Checks that can fail when you can still use the service."""


def check_readiness(opening: StartUp, queue: QueueWatch, around: Sequence[Check]) -> Readiness:
    """Check if all parts are ready.

    Without a model or with a full disk, the service stays ready: full-text search still works.
    """
    if reason := opening.waiting_for():
        return Readiness(ready=False, waiting_for=reason, checks=[*around])
    try:
        container = opening.container()
        graph = container.graph
        states, new = [*read_embedding_states(graph).values()], get_default_space(read_spaces(graph))
        checks = [*_check_indexes(graph, states, new), *_check_models(container, states, new)]
        checks += [queue.check(), *around]
    except KgError as error:
        return Readiness(ready=False, waiting_for=str(error), checks=[*around])
    blocking = next((each for each in checks if _is_blocking(each)), None)
    return Readiness(ready=blocking is None, waiting_for=blocking and blocking.detail, checks=checks)


def without_names(readiness: Readiness) -> Readiness:
    """Remove the names of spaces and models, to show this to keys for some ontologies."""
    blocking = next((each.name for each in readiness.checks if _is_blocking(each)), None)
    part = {None: "the service to open", "worker": "a worker", "processes": "a process that keeps dying"}
    waiting_for = None if readiness.ready else part.get(blocking, "an index")
    return Readiness(ready=readiness.ready, waiting_for=waiting_for)


def _is_blocking(check: Check) -> bool:
    return not check.ok and check.name not in DEGRADING


def _check_indexes(graph: Graph, states: Sequence[EmbeddingState], new: Space) -> Iterator[Check]:
    """Check the indexes that are used by searches now. Builds are not included."""
    wanted = {TEXT_INDEX, new.index_name, *(each.answering.space.index_name for each in states)}
    wanted |= {plan.space.image_index_name for each in states for plan in each.images[:1]}
    there = read_index_states(graph)
    for name in sorted(wanted):
        state = there.get(name)
        told = f"{state.state.lower()}, {state.percent:.0f} % populated" if state else "not there"
        yield Check(name=name, ok=state is not None and state.online, detail=f"index {name} is {told}")


def _check_models(container: Container, states: Sequence[EmbeddingState], new: Space) -> Iterator[Check]:
    """Check the model of new ontologies and the known state of other models. No check loads a model."""
    first = container.spaces.get_open(new)
    used = {each.answering.space.slug: each.answering.space for each in states}
    seeing = {plan.space.slug: plan.space for each in states for plan in each.images}
    yield from check_image_models([container.image_spaces.get_open(seeing[slug]) for slug in sorted(seeing)])
    trouble = first.find_problem()
    detail = f"full text only: {trouble}" if trouble else first.space.identity.model
    yield Check(name="model", ok=trouble is None, detail=detail)
    for slug in sorted(used.keys() - {first.space.slug}):
        if (trouble := container.spaces.get_open(used[slug]).get_last_failure()) is not None:
            yield Check(name="model", ok=False, detail=f"full text only in the space {slug!r}: {trouble}")


def check_image_models(images: Sequence[OpenImageSpace]) -> Iterator[Check]:
    """Check the image models of the used image spaces."""
    for each in images:
        slug, trouble = each.space.slug, each.get_last_failure()
        detail = f"{each.space.identity.model}, for images in the space {slug!r}"
        if trouble is not None:
            detail = f"images are found only by their text in the space {slug!r}: {trouble}"
        yield Check(name="model", ok=trouble is None, detail=detail)
