"""`kg admin audit`: what was changed, when and with which key."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.models.vocabulary import MAX_PAGE
from kg_cli.terminal.answers import report
from kg_cli.terminal.options import JsonOption

if TYPE_CHECKING:
    from kg_api.models.keys import AuditEntry, AuditPage

FAILED = 500
"""From this status of HTTP on."""


def audit(
    *,
    key: Annotated[
        str | None,
        typer.Option(
            help="Only with this key, by its id, or all of a name; `local`: on the service's machine."
        ),
    ] = None,
    since: Annotated[datetime | None, typer.Option(help="Only from then on, in your own time.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="Number of entries to skip.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE, help="Maximum number of entries.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List what was changed, when and with which key, the newest first.

    Example: kg admin audit --key ada --since 2026-01-31
    """
    moment = since and since.astimezone()
    report(lambda kg: kg.audit(key, since=moment, offset=offset, limit=limit), print_entries, as_json=as_json)


def print_entries(page: AuditPage) -> None:
    """Print each with its own lines: in columns of a narrow terminal ids would be torn."""
    from kg_cli.terminal import console

    if not page.entries:
        console.say("Nothing was changed.")
        return
    for each in page.entries:
        console.line(f"{_time(each)}  {_who(each)}  {each.method} {each.path}{_failure(each)}")
        if each.outcome:
            console.line(f"    {_outcome(each)}")
    if (last := page.offset + len(page.entries)) < page.total:
        console.note(f"{page.total - last:,} older ones: --offset {last}")


def _time(entry: AuditEntry) -> str:
    return entry.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _who(entry: AuditEntry) -> str:
    return entry.key_id if entry.key_name is None else f"{entry.key_name} ({entry.key_id})"


def _failure(entry: AuditEntry) -> str:
    """It may have been done in part."""
    return f"  failed ({entry.status})" if entry.status >= FAILED else ""


def _outcome(entry: AuditEntry) -> str:
    return ", ".join(f"{name}={value}" for name, value in entry.outcome.items())
