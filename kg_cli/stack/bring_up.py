"""`kg up`, in the background and in the foreground."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator

from kg_api.errors import ConfigurationError
from kg_api.managed.home import Home
from kg_api.managed.probes import OUTDATED
from kg_api.managed.roles import OnWait
from kg_api.settings import Settings, given_variables
from kg_cli.stack import processes, report, started_with, status, watch
from kg_cli.stack.fetching import fetch_parts
from kg_cli.terminal import console


def in_background(settings: Settings) -> None:
    """Start what does not run, wait until it works, and leave it running.

    Raises:
        ConfigurationError, Conflict, ManagedProcessError: as in processes.launch and watch.wait_until_ready.
    """
    home = Home(settings.home).create()
    processes.refuse_other_database(home, settings)
    found = status.look(settings)
    if found.outdated:
        raise ConfigurationError(OUTDATED.format(home=home.path))
    if not found.complete:
        processes.choose_ports(home, settings)  # before 200 MB are fetched for a port that is taken
        fetch_parts(settings)
        processes.launch(home, settings)
        ran = bool(found.processes)
        with console.waiting_line() as show, _stopping_all(home, settings, show, unless=ran):
            watch.wait_until_ready(home, settings, show)
        found = status.look(settings)
    report.print_up(found)
    report.warn_of_other_version(found)
    report.warn_of_settings(started_with.differing(home, settings, given_variables()))


@contextlib.contextmanager
def _stopping_all(home: Home, settings: Settings, on_stop: OnWait, *, unless: bool) -> Generator[None]:
    """Leave nothing running if kg cannot start as it is configured, unless something ran before."""
    try:
        yield
    except ConfigurationError:
        if not unless:
            processes.stop_all(home, settings, lambda name: on_stop(f"{name} to stop"))
        raise


def in_foreground(settings: Settings) -> None:
    """Start everything, watch over it until SIGINT or SIGTERM, then stop it.

    Raises:
        Conflict: kg is watched over by another process.
        ConfigurationError, ManagedProcessError: as in processes.launch and watch.wait_until_ready.
    """
    home = Home(settings.home).create()
    processes.choose_ports(home, settings)
    fetch_parts(settings)
    processes.take_over(home, settings)
    with watch.supervising(home, settings) as (supervisor, stop):
        watcher = threading.Thread(target=supervisor.run, args=(stop,), name="supervisor")
        watcher.start()
        try:
            _stay(home, settings, stop)
        finally:
            stop.set()
            watcher.join()
            with console.waiting_line() as show:
                processes.leave(home, settings, lambda name: show(f"{name} to stop"))


def _stay(home: Home, settings: Settings, stop: threading.Event) -> None:
    with console.waiting_line() as show:
        watch.wait_until_ready(home, settings, show, stop)
    if not stop.is_set():
        report.print_up(status.look(settings))
    stop.wait()
