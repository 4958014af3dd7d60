"""kg up, down, status, doctor: the processes on this machine. serve, worker, mcp: a single process."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from kg_cli.terminal import options
from kg_cli.terminal.options import option


def up(
    *,
    foreground: Annotated[
        bool, option("Run in the foreground until Ctrl-C or SIGTERM.", "--foreground")
    ] = False,
    open_page: Annotated[bool, option("Open the web UI if run in a terminal.", "--open/--no-open")] = True,
) -> None:
    """Start kg on this machine: Neo4j, the service and the worker.

    The command returns when all processes are ready, and leaves them running.
    If KG_NEO4J__URI is set, kg uses that Neo4j and starts none.

    Example: kg up
    """
    from kg_api.settings import load_settings
    from kg_cli.stack import report

    start = report.start_in_foreground if foreground else report.start_in_background
    start(load_settings(), open_page=open_page)


def down() -> None:
    """Stop the processes of `kg up`. The data stays.

    Example: kg down
    """
    from kg_api.local.processes import Home
    from kg_api.settings import load_settings
    from kg_cli.stack import roles
    from kg_cli.terminal import console

    settings = load_settings()
    place = Home(settings.home)
    with console.waiting_line() as show:
        ended = roles.stop_all(place, settings, lambda name: show(f"{name} to stop"))
    console.say("kg is stopped" if ended else f"kg was not running in {place.path}")


def status(*, json: options.OwnJson = False) -> None:
    """Show the running processes and their addresses. Exits with 69 if kg is stopped or not ready.

    Example: kg status --json
    """
    from kg_api.errors import Unavailable
    from kg_api.settings import load_settings
    from kg_cli.stack import report
    from kg_cli.terminal import console

    found = report.read_status(load_settings())
    if json:
        console.print_json(found.as_json())
    else:
        report.print_status(found)
    if not (found.serves or found.slow):
        raise typer.Exit(Unavailable.exit_code)


def doctor(*, json: options.OwnJson = False) -> None:
    """Check everything that kg needs, and report fixes. Exits with 1 if a check fails or kg is stopped.

    Example: kg doctor
    """
    from kg_cli.stack.doctor import examine, print_findings
    from kg_cli.terminal import console

    findings = examine()
    if json:
        console.print_json([asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)


def supervise() -> None:
    """Supervise the processes of `kg up`, which starts this command."""
    from kg_api.settings import load_settings
    from kg_cli.stack import report

    report.supervise(load_settings())


def serve(
    *,
    managed: Annotated[bool, option("Set by the supervisor: find a port.", "--managed", hidden=True)] = False,
) -> None:
    """Run the REST service in the foreground. `kg up` starts one for you.

    Example: KG_NEO4J__URI=bolt://127.0.0.1:7687 KG_NEO4J__PASSWORD=... kg serve
    """
    from kg_api.settings import load_settings
    from kg_api.web.shared.metrics_folder import shared_metrics

    settings = load_settings()
    with shared_metrics(settings.api.process_count):
        from kg_api.web.serve import serve as run

        run(settings, managed=managed)


def worker() -> None:
    """Run a worker in the foreground. `kg up` starts one for you. Several workers share the jobs.

    `kg status` lists this worker, but `kg down` does not stop it. To stop it, press Ctrl-C.

    Example: KG_NEO4J__URI=bolt://127.0.0.1:7687 KG_NEO4J__PASSWORD=... kg worker
    """
    from kg_api.settings import load_settings
    from kg_api.worker import work

    work(load_settings())


def mcp() -> None:
    """Serve an agent by the Model Context Protocol, over standard input and output.

    The agent starts this command (see docs/guides/agents.md). The command calls the service of `kg up` or of
    KG_API_URL. If the service does not answer, each call returns an error with the fix.

    Example: kg mcp
    """
    from kg_api.logs import configure_logs
    from kg_api.mcp.remote import RemoteService
    from kg_api.mcp.server import run_stdio
    from kg_api.settings import load_settings
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import say

    configure_logs(load_settings().log)
    if sys.stdin.isatty():
        say("Waiting for an agent's JSON-RPC on standard input. Ctrl-D ends. See docs/guides/agents.md.")
    service = RemoteService(open_client)
    try:
        run_stdio(service.call)
    finally:
        service.close()
