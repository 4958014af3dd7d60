"""`kg admin audit` and `kg admin keys`: the audit log and the API keys of the service."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.schemas.vocabulary import (
    MAX_KEY_DAYS,
    MAX_KEY_NAME,
    MAX_OVERLAP_HOURS,
    MAX_PAGE,
    USUAL_OVERLAP_HOURS,
    KeyScope,
)
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, message
from kg_cli.terminal.options import argument, option, repeated

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.operations import ApiKey, ApiKeys, AuditPage, CreatedKey

FAILED = 500


def print_entries(page: AuditPage) -> None:
    """Print each entry on separate lines, because columns of a narrow terminal would break ids."""
    if not page.entries:
        console.say("Nothing was changed.")
    for each in page.entries:
        who = each.key_id if each.key_name is None else f"{each.key_name} ({each.key_id})"
        failed = f"  failed ({each.status})" if each.status >= FAILED else ""  # a part may be done
        at = each.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        console.line(f"{at}  {who}  {each.method} {each.path}{failed}")
        if each.outcome:
            console.line(f"    {', '.join(f'{name}={value}' for name, value in each.outcome.items())}")
    if (last := page.offset + len(page.entries)) < page.total:
        console.note(f"{page.total - last:,} older ones: --offset {last}")


def read_local_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a time. Write 2026-01-31 or 2026-01-31T09:30") from None


@command(show=print_entries)
def audit(
    kg: KgClient,
    *,
    key: Annotated[
        str | None,
        option("Only show changes by this key (id or name), or by `local`, the service's machine."),
    ] = None,
    since: Annotated[
        datetime | None, option("Only show changes made after this local time.", parser=read_local_time)
    ] = None,
    offset: options.Offset = 0,
    limit: Annotated[int, option("Maximum number of entries to return.", min=1, max=MAX_PAGE)] = 50,
) -> Any:
    """List changes, with time and key, the newest first.

    Example: kg admin audit --key ada --since 2026-01-31
    """
    return kg.audit(key, since=since, offset=offset, limit=limit)


# `kg admin keys`

KeyArgument = Annotated[str, argument("Id or name of the key, or the key itself.", metavar="KEY")]

group = make_group("Keys of the users of the service.")


def _format_ontologies(key: ApiKey) -> str:
    return "all" if key.ontologies is None else ", ".join(key.ontologies)


def _format_day(moment: datetime | None) -> str:
    return "never" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")


_print_keys = Table(
    "keys",
    {
        "key": "key_id",
        "name": "name",
        "scope": "scope",
        "ontologies": _format_ontologies,
        "state": "state",
        "expires": lambda key: _format_day(key.expires_at),
        "last used": lambda key: _format_day(key.last_used_at),
    },
    empty="No API keys exist. Create one with `kg admin keys create NAME`.",
)


def print_keys(answer: ApiKeys) -> None:
    _print_keys(answer)
    if not answer.required:
        console.note(
            "this service also answers requests without a key. To require keys, set "
            "KG_API__REQUIRE_KEYS=true on its machine, or let it listen on a public address, and restart it."
        )


@command(group, "list", asks="keys", show=print_keys)
def list_keys() -> None:
    """List all keys, including expired and revoked keys.

    Example: kg admin keys list
    """


def print_created(made: CreatedKey) -> None:
    console.line(made.key)
    until = "until it is revoked" if made.expires_at is None else f"until {_format_day(made.expires_at)}"
    ontologies = _format_ontologies(made)
    console.say(f"key {made.key_id} of {made.name} ({made.scope}, ontologies: {ontologies}) is valid {until}")
    console.note("save this key now, because kg does not store it. Clients send the key in KG_API_KEY.")


@command(group, asks="create_key", show=print_created)
def create(
    name: Annotated[str, argument(f"Owner or purpose, {MAX_KEY_NAME} characters at most.")],
    *,
    scope: Annotated[
        KeyScope, option("Scope: `read` (search and read), `write` (also change), or `admin` (everything).")
    ] = "read",
    ontologies: Annotated[
        list[str] | None,
        repeated("Limit the key to this ontology. Default: all.", "--ontology", "-o", metavar="NAME"),
    ] = None,
    valid_days: Annotated[
        int | None, option("Days until the key expires. Default: never.", "--days", min=1, max=MAX_KEY_DAYS)
    ] = None,
) -> None:
    """Create an API key. kg shows it once and does not store it.

    Example: kg admin keys create ada --scope write --ontology handbook --days 90
    """


def print_rotated(made: CreatedKey, overlap_hours: float) -> None:
    print_created(made)
    hours = "1 more hour" if overlap_hours == 1 else f"{overlap_hours:g} more hours"
    until = f"valid for at most {hours}" if overlap_hours else "no longer valid"
    console.say(f"the replaced key {made.replaces} is {until}")


@command(group, asks="rotate_key", show=print_rotated)
def rotate(
    key: KeyArgument,
    *,
    overlap_hours: Annotated[
        float, option("Hours for which both keys work.", "--overlap", min=0, max=MAX_OVERLAP_HOURS)
    ] = USUAL_OVERLAP_HOURS,
    valid_days: Annotated[
        int | None, option("Days until expiry. Default: like the old key.", "--days", min=1, max=MAX_KEY_DAYS)
    ] = None,
) -> None:
    """Replace a key with a new key of the same name, scope and ontologies.

    Example: kg admin keys rotate ada --overlap 1
    """


@command(
    group,
    asks="revoke_key",
    show=message("the key {0.key_id} of {0.name} is revoked. Services reject the key within five seconds"),
)
def revoke(
    key: KeyArgument,
    *,
    force: Annotated[bool, option("Revoke even the last admin key of all ontologies.", "--force")] = False,
) -> None:
    """Revoke a key. It stops working within five seconds.

    If authentication is enabled, the last admin key of all ontologies cannot revoke itself. Only a command on
    the machine of the service could then create another key.

    Example: kg admin keys revoke ada
    """
