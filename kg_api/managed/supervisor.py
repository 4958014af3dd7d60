"""Keeps the roles of a home running. When it dies they run on, and the next one takes them over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import structlog

from kg_api.managed.roles import Role
from kg_api.managed.watch import Policy, RoleStatus, Watch

log = structlog.get_logger()


class Supervisor:
    """Starts the roles in their order and starts anew those that die."""

    def __init__(
        self,
        watched: Sequence[Role],
        publish: Callable[[dict[str, RoleStatus]], None],
        policy: Policy | None = None,
        besides: Callable[[set[str]], None] = lambda _: None,
    ) -> None:
        """Watch over roles.

        Args:
            watched: in the order of their start.
            publish: gets what is known of them, whenever it changes.
            policy: when what died is started again.
            besides: called with the names of those that work, each time all were looked after.
        """
        self._policy = policy or Policy()
        self._watches = [Watch(role, self._policy) for role in watched]
        self._publish = publish
        self._besides = besides
        self._published: dict[str, RoleStatus] | None = None

    def run(self, stop: threading.Event) -> None:
        """Watch until told to stop; the processes run on."""
        self._report()
        while not stop.is_set():
            self.step()
            stop.wait(self._policy.watch_seconds if self._is_settled() else self._policy.start_watch_seconds)

    def step(self) -> None:
        """Look after every role once, and publish what changed."""
        for watch in self._watches:
            watch.attend(self._working())
        self._report()
        try:
            self._besides(self._working())
        except Exception:  # such as a full disk: it must not end the watch
            log.exception("what is done besides has failed")

    def _working(self) -> set[str]:
        return {watch.role.name for watch in self._watches if watch.state == "ready"}

    def _report(self) -> None:
        statuses = {watch.role.name: watch.status() for watch in self._watches}
        if statuses == self._published:
            return
        try:
            self._publish(statuses)
        except OSError as error:  # a full disk must not end the one who is there to heal
            log.warning("the state file cannot be written", reason=str(error))
        else:
            self._published = statuses

    def _is_settled(self) -> bool:
        return all(watch.state in ("ready", "failed") for watch in self._watches)
