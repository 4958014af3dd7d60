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


def audit(
    *,
    key: Annotated[
        str | None,
        typer.Option(help="Only with this key, by its id or name; `local`: on the service's machine."),
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
    report(
        lambda kg: kg.audit(key, since=moment, offset=offset, limit=limit), _print_entries, as_json=as_json
    )


def _print_entries(page: AuditPage) -> None:
    from kg_cli.terminal import console

    rows = [[_time(each), _who(each), f"{each.method} {each.path}", _outcome(each)] for each in page.entries]
    if not rows:
        console.say("Nothing was changed.")
        return
    console.print_table(["when", "key", "request", "outcome"], rows)
    if (last := page.offset + len(rows)) < page.total:
        console.note(f"{page.total - last:,} older ones: --offset {last}")


def _time(entry: AuditEntry) -> str:
    return entry.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _who(entry: AuditEntry) -> str:
    return entry.key_id if entry.key_name is None else f"{entry.key_name} ({entry.key_id})"


def _outcome(entry: AuditEntry) -> str:
    return ", ".join(f"{name}={value}" for name, value in entry.outcome.items())
