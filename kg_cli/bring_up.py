"""`kg up`, in the background and in the foreground."""

from __future__ import annotations

import threading

from kg_api.managed.home import Home
from kg_api.settings import Settings
from kg_cli import console, stack, stack_report, stack_status, watching
from kg_cli.fetching import fetch_parts


def in_background(settings: Settings) -> None:
    """Start what does not run, wait until it works, and leave it running.

    Raises:
        ConfigurationError, Conflict, ManagedProcessError: as in stack.launch and watching.wait_until_ready.
    """
    home = Home(settings.home).create()
    stack.refuse_other_database(home, settings)
    found = stack_status.look(settings)
    if not found.complete:
        stack.choose_ports(home, settings)  # before 170 MB are fetched for a port that is taken
        fetch_parts(settings)
        stack.launch(home, settings)
        with console.waiting_line() as show:
            watching.wait_until_ready(home, settings, show)
        found = stack_status.look(settings)
    stack_report.print_up(found)
    stack_report.warn_of_other_version(found)


def in_foreground(settings: Settings) -> None:
    """Start everything, watch over it until SIGINT or SIGTERM, then stop it.

    Raises:
        Conflict: kg is watched over by another process.
        ConfigurationError, ManagedProcessError: as in stack.launch and watching.wait_until_ready.
    """
    home = Home(settings.home).create()
    stack.choose_ports(home, settings)
    fetch_parts(settings)
    stack.take_over(home, settings)
    with watching.supervising(home, settings) as (supervisor, stop):
        watcher = threading.Thread(target=supervisor.run, args=(stop,), name="supervisor")
        watcher.start()
        try:
            _stay(home, settings, stop)
        finally:
            stop.set()
            watcher.join()
            with console.waiting_line() as show:
                stack.leave(home, settings, lambda name: show(f"{name} to stop"))


def _stay(home: Home, settings: Settings, stop: threading.Event) -> None:
    with console.waiting_line() as show:
        watching.wait_until_ready(home, settings, show, stop)
    if not stop.is_set():
        stack_report.print_up(stack_status.look(settings))
    stop.wait()
