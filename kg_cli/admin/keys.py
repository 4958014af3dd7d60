"""`kg admin audit` and `kg admin keys`: who changed what, and who may use the service."""

from __future__ import annotations

from datetime import datetime
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
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from datetime import datetime

    from kg_api.schemas.operations import ApiKey, ApiKeys, AuditPage, CreatedKey
    from kg_cli.terminal import console
else:
    console = LateModule("kg_cli.terminal.console")

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
    if not page.entries:
        console.say("Nothing was changed.")
        return
    for each in page.entries:
        who = each.key_id if each.key_name is None else f"{each.key_name} ({each.key_id})"
        failed = f"  failed ({each.status})" if each.status >= FAILED else ""  # it may have been done in part
        at = each.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        console.line(f"{at}  {who}  {each.method} {each.path}{failed}")
        if each.outcome:
            outcome = ", ".join(f"{name}={value}" for name, value in each.outcome.items())
            console.line(f"    {outcome}")
    if (last := page.offset + len(page.entries)) < page.total:
        console.note(f"{page.total - last:,} older ones: --offset {last}")


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

    def describe(made: CreatedKey) -> None:
        _print_new(made)
        until = f"good for {overlap:g} hours more at most" if overlap else "worth nothing any more"
        console.say(f"the key {made.replaces}, which it replaces, is {until}")

    report(lambda kg: kg.rotate_key(key, overlap_hours=overlap, valid_days=days), describe, as_json=as_json)


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

    def describe(gone: ApiKey) -> None:
        console.say(f"the key {gone.key_id} of {gone.name} is worth nothing any more, within five seconds")

    report(lambda kg: kg.revoke_key(key, force=force), describe, as_json=as_json)


def _print_all(answer: ApiKeys) -> None:
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
        console.note(
            "this service answers without a key, too: set KG_API__REQUIRE_KEYS=true where it runs, or let it "
            "listen beyond this machine, and start it again"
        )


def _print_new(made: CreatedKey) -> None:
    console.line(made.key)
    until = "until it is revoked" if made.expires_at is None else f"until {_day(made.expires_at)}"
    console.say(f"the key {made.key_id} of {made.name} ({made.scope}, of {_of(made)}) is good {until}")
    console.note("keep it now: it is shown this once and stored nowhere; it is sent by KG_API_KEY")


def _of(key: ApiKey) -> str:
    return "all" if key.ontologies is None else ", ".join(key.ontologies)


def _day(moment: datetime | None) -> str:
    return "never" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")
