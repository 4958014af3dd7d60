"""Command line of kg: the commands, then the groups, in the order of the help.

Commands import heavy modules in their bodies. `kg --help` loads all modules here in less than 0.2 s.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kg_api import __version__
from kg_api.errors import KgError
from kg_cli import INTERRUPTED
from kg_cli.admin import commands as admin
from kg_cli.concepts import commands as concepts
from kg_cli.documents import commands as documents
from kg_cli.documents import folders
from kg_cli.evaluate import commands as evaluate
from kg_cli.jobs import commands as jobs
from kg_cli.proposals import commands as proposals
from kg_cli.search import commands as searching
from kg_cli.search import images
from kg_cli.stack.commands import doctor, down, mcp, serve, status, supervise, up, worker
from kg_cli.terminal import console
from kg_cli.terminal.answers import Group
from kg_cli.transfer.commands import export, import_bundle

COMMANDS = (
    *(up, down, status, doctor),
    *(searching.answer, searching.augment, documents.conversation, export, documents.ingest),
    *(documents.facets, mcp, searching.search, searching.hybrid, searching.show),
    *(searching.read, serve, worker, searching.similar, searching.subgraph),
)
NAMED = {"import": import_bundle, "open": searching.open_page}  # names of Python
GROUPS = {
    "admin": admin.group,
    "concepts": concepts.group,
    "eval": evaluate.group,
    "folders": folders.group,
    "images": images.group,
    "jobs": jobs.group,
    "proposals": proposals.group,
    "ontologies": documents.ontologies,
    "delete": documents.delete,
    "documents": documents.documents,
}


UNEXPECTED = 1


app = typer.Typer(
    name="kg",
    cls=Group,
    help="Find passages in your own documents, with their exact place. To start kg, run: kg up",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich help costs 0.2 s and would double the time of `kg --help`
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


for _command in COMMANDS:
    app.command()(_command)
for _name, _command in NAMED.items():
    app.command(_name)(_command)
app.command(hidden=True)(supervise)
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def run() -> None:
    """Run the command line and exit the process with its exit code."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run a command. Return 0, the code of the error's class, 2 (invalid arguments), or 130 (interrupt)."""
    try:
        app(arguments, prog_name="kg")
    except SystemExit as end:
        # Flush the output. A reader that closes early, such as `head`, is not an error
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else UNEXPECTED
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, sys.stdout.fileno())  # prevents a complaint of the interpreter at exit
            return code or UNEXPECTED
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - process boundary: the user reads the message
        expected = isinstance(error, KgError)
        console.complain(str(error) if expected else console.describe(error))
        console.trace_when_debugging(error)
        return error.exit_code if expected else UNEXPECTED
    return UNEXPECTED


if __name__ == "__main__":
    run()
