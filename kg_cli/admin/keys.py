"""`kg admin audit`: what was changed, when and with which key."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kg_api.schemas.vocabulary import (
    MAX_KEY_DAYS,
    MAX_KEY_NAME,
    MAX_OVERLAP_HOURS,
    MAX_PAGE,
    USUAL_OVERLAP_HOURS,
    KeyScope,
)
from kg_cli.terminal.connect import JsonOption, report

if TYPE_CHECKING:
    from datetime import datetime

    from kg_api.schemas.operations import ApiKey, ApiKeys, AuditEntry, AuditPage, CreatedKey

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


# `kg admin keys`: who may use the service, and for what.

Called: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="Its id, its name, or the key itself.")]
DaysOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--days", min=1, max=MAX_KEY_DAYS, help="For how many days it is good; unset: for ever."),
]

group = typer.Typer(help="Keys of those who use the service.", no_args_is_help=True)


@group.command("list")
def show(*, as_json: JsonOption = False) -> None:
    """List all keys, also those that are expired or revoked.

    Example: kg admin keys list
    """
    report(lambda kg: kg.keys(), _print_all, as_json=as_json)


@group.command()
def create(
    name: Annotated[str, typer.Argument(help=f"Who or what it is for, {MAX_KEY_NAME} characters at most.")],
    *,
    scope: Annotated[
        KeyScope,
        typer.Option(help="read: search and read; write: also change documents; admin: also all the rest."),
    ] = "read",
    ontology: Annotated[
        list[str] | None,
        typer.Option(help="Of this ontology alone; repeat for several. Unset: all.", metavar="NAME"),
    ] = None,
    days: DaysOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key. It is shown once and stored nowhere.

    Example: kg admin keys create ada --scope write --ontology handbook --days 90
    """
    report(
        lambda kg: kg.create_key(name, scope=scope, ontologies=ontology, valid_days=days),
        _print_new,
        as_json=as_json,
    )


@group.command()
def rotate(
    key: Called,
    *,
    overlap: Annotated[
        float,
        typer.Option(min=0, max=MAX_OVERLAP_HOURS, help="Hours for which the old key is good beside it."),
    ] = USUAL_OVERLAP_HOURS,
    days: Annotated[
        int | None,
        typer.Option("--days", min=1, max=MAX_KEY_DAYS, help="Its life in days; unset: the old one's."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a key by another of the same name, scope and ontologies.

    Example: kg admin keys rotate ada --overlap 1
    """
    told = partial(_print_heir, overlap=overlap)
    report(lambda kg: kg.rotate_key(key, overlap_hours=overlap, valid_days=days), told, as_json=as_json)


@group.command()
def revoke(
    key: Called,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also the last key that is good for everything.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a key worth nothing, within five seconds.

    The last one that is good for everything does not revoke itself, where keys are required: only a command
    on the machine of the service could make another then.

    Example: kg admin keys revoke ada
    """
    report(lambda kg: kg.revoke_key(key, force=force), _print_revoked, as_json=as_json)


def _print_all(answer: ApiKeys) -> None:
    from kg_cli.terminal import console

    rows = [
        [
            each.key_id,
            each.name,
            each.scope,
            _of(each),
            each.state,
            *map(_day, (each.expires_at, each.last_used_at)),
        ]
        for each in answer.keys
    ]
    if rows:
        console.print_table(["key", "name", "scope", "ontologies", "state", "expires", "last used"], rows)
    else:
        console.say("There are no keys; `kg admin keys create NAME` makes one.")
    if not answer.required:
        console.note(OPEN)


OPEN = (
    "this service answers without a key, too: set KG_API__REQUIRE_KEYS=true where it runs, or let it listen "
    "beyond this machine, and start it again"
)


def _print_new(made: CreatedKey) -> None:
    from kg_cli.terminal import console

    console.line(made.key)
    until = "until it is revoked" if made.expires_at is None else f"until {_day(made.expires_at)}"
    console.say(f"the key {made.key_id} of {made.name} ({made.scope}, of {_of(made)}) is good {until}")
    console.note("keep it now: it is shown this once and stored nowhere; it is sent by KG_API_KEY")


def _print_heir(made: CreatedKey, *, overlap: float) -> None:
    from kg_cli.terminal import console

    _print_new(made)
    until = f"good for {overlap:g} hours more at most" if overlap else "worth nothing any more"
    console.say(f"the key {made.replaces}, which it replaces, is {until}")


def _print_revoked(key: ApiKey) -> None:
    from kg_cli.terminal import console

    console.say(f"the key {key.key_id} of {key.name} is worth nothing any more, within five seconds")


def _of(key: ApiKey) -> str:
    return "all" if key.ontologies is None else ", ".join(key.ontologies)


def _day(moment: datetime | None) -> str:
    return "never" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")
