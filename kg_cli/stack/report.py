"""What `kg up`, `kg status` and `kg doctor` print for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.text import Text

from kg_api import __version__
from kg_api.managed import state
from kg_api.managed.watch import RoleStatus
from kg_api.models.queue import QueueStatus
from kg_api.wording.plural import pluralize
from kg_cli.jobs.report import print_dead
from kg_cli.jobs.words import name_of, waits_for
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.stack.status import StackStatus
from kg_cli.terminal import console
from kg_cli.terminal.command import runnable

COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def print_up(status: StackStatus) -> None:
    """Say that kg runs, where, and what to do next."""
    console.line(Text.assemble(("kg is up", "bold green"), f" at {status.api_url}"))
    if not status.ready:
        console.say(escape(f"It answers, but waits for {status.waiting_for}"))
    kg = runnable()
    lines = [
        f"  Neo4j    {status.neo4j_uri}",
        f"  REST     {status.api_url}/openapi.json",
        f"  next     {kg} ingest FOLDER --ontology NAME, then {kg} search 'WHAT YOU LOOK FOR'",
        f"  stop     {kg} down",
    ]
    console.line("\n".join(lines))
    if status.jobs:
        print_dead(status.jobs.dead)


def warn_of_other_version(status: StackStatus) -> None:
    """Say that another kg runs than this one."""
    if status.version != __version__:
        console.say(
            f"kg {status.version} runs here, this is {__version__}: `kg down` and `kg up` change over"
        )


def warn_of_settings(names: Sequence[str]) -> None:
    """Say that kg runs with other settings than these variables give now."""
    if names:
        verb = "has another value" if len(names) == 1 else "have other values"
        console.say(
            f"{', '.join(names)} {verb} than kg was started with; settings are taken when it starts: "
            "`kg down` and `kg up`"
        )


def print_status(status: StackStatus) -> None:
    """Print where things are and which processes run."""
    console.line(Text.assemble(f"kg {status.version}: ", _readiness(status)))
    for name, value in (("service", status.api_url), ("Neo4j", status.neo4j_uri), ("home", status.home)):
        console.line(f"  {name:8} {value or '-'}")
    if status.refusal:
        console.line(f"  {'jobs':8} not told: {status.refusal}")
    if status.jobs:
        console.line(f"  {'jobs':8} {_count_jobs(status.jobs)}")
        for each in status.jobs.waits:
            line = f"  {'':8} {name_of(each)} {waits_for(each.waits_for)}"
            console.line(line)
        print_dead(status.jobs.dead)
    if status.backup:
        console.line(f"  {'backup':8} {status.backup}")
    if status.to_review:
        them = pluralize(status.to_review, "document")
        console.line(f"  {'review':8} {them} to approve or reject: {runnable()} documents waiting")
    pids = {process.role: str(process.pid) for process in status.processes}
    if pids:
        away = [name for name in status.roles if name not in pids]
        rows = [(name, pids.get(name, "-"), _describe_role(status, name)) for name in [*pids, *away]]
        console.print_table(("process", "pid", "state"), rows)


def print_findings(findings: Sequence[DoctorFinding]) -> None:
    """Print what the checks found, with the way to mend what is wrong."""
    for finding in findings:
        mark = Text(f"{finding.state:5}", COLOURS[finding.state])
        console.line(Text.assemble(mark, f"{finding.name}: {finding.detail}"))
        if finding.fix:
            console.line(f"     -> {finding.fix}")


def _count_jobs(jobs: QueueStatus) -> str:
    parts = [f"{jobs.running} running, {jobs.queued} queued"]
    parts += [f"{jobs.stalled} stalled"] if jobs.stalled else []
    return ", ".join(parts)


def _describe_role(status: StackStatus, role: str) -> str:
    known = status.roles.get(role)
    if known is None or status.supervisor_pid is None:
        return "not watched over; `kg up` changes that"
    return ", ".join([known.state, *_deaths(known)])


def _deaths(known: RoleStatus) -> Iterator[str]:
    """What a process has been through, if anything."""
    last = f" (the last time by {known.last_exit})" if known.last_exit else ""
    if known.deaths:
        yield f"died {state.times(known.deaths)}{last}"
    if known.restarts:
        yield f"started again {state.times(known.restarts)}"
    if (seconds := known.next_start_seconds()) is not None:
        yield f"next start in {seconds:.0f} s"


def _readiness(status: StackStatus) -> Text:
    if status.ready:
        return Text("ready", "green")
    if status.slow:
        return Text(f"perhaps ready: everything runs; {status.waiting_for}", "yellow")
    return Text(f"not ready: waits for {status.waiting_for}", "yellow")
