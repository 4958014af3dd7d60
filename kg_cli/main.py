"""The whole command line, in the order of its help: the commands, then the groups.

What a command needs is imported in its body: all these modules are loaded for `kg --help`, which takes
less than 0.2 s.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kg_api import __version__
from kg_api.errors import KgError
from kg_cli.admin import commands as admin
from kg_cli.bundle.commands import export, import_bundle
from kg_cli.communities import commands as communities
from kg_cli.concepts import commands
from kg_cli.documents import commands as documents
from kg_cli.evaluate import commands as evaluate
from kg_cli.jobs import commands as jobs
from kg_cli.mcp import mcp
from kg_cli.proposals import commands as proposals
from kg_cli.search import commands as searching
from kg_cli.search import images
from kg_cli.stack.commands import doctor, down, serve, status, supervise, up, worker

COMMANDS = (
    *(up, down, status, doctor),
    *(searching.answer, searching.augment, documents.conversation, export, documents.ingest),
    *(documents.ontologies, documents.facets, mcp, searching.search, searching.hybrid, searching.show),
    *(searching.read, serve, worker, searching.similar, searching.similar_documents),
    *(searching.source_graph, searching.subgraph),
)
NAMED = {"import": import_bundle}
"""Commands whose names are words of Python."""
GROUPS = {
    "admin": admin.group,
    "communities": communities.group,
    "concept": commands.group,
    "eval": evaluate.group,
    "folders": documents.folders,
    "images": images.group,
    "jobs": jobs.group,
    "proposals": proposals.group,
    "delete": documents.delete,
    "documents": documents.documents,
}


# The `kg` command: its entry point, and the one handler that turns errors into messages and exit codes.

INTERRUPTED = 130
UNEXPECTED = 1


class _Commands(TyperGroup):
    """The root of all commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run what is asked for. A wrong option is told without the name of Python's exception."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="kg",
    cls=_Commands,
    help="Find passages in your own documents by meaning, with their exact place. Start with: kg up",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich help costs 0.2 s, as much as all of `kg --help`
    context_settings={"help_option_names": ["-h", "--help"]},
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
    """Run the command line, and end the process with its exit code."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run one command.

    Returns:
        The exit code: 0, that of the error's class, 2 for a wrong command line, 130 when interrupted.
    """
    try:
        app(arguments, prog_name="kg")
    except SystemExit as end:
        # Write what is still to be written; a reader that went away, such as `head`, is no error of ours
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else UNEXPECTED
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # or the interpreter complains at its end
            return code or UNEXPECTED
        return code
    except KgError as error:
        _complain(str(error), error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the border of the process: nobody above would tell the person
        from kg_cli.terminal import console as crash

        _complain(crash.describe(error), error)
    return UNEXPECTED


def _complain(message: str, error: Exception) -> None:
    from kg_cli.terminal import console

    console.complain(message)
    console.trace_when_debugging(error)


if __name__ == "__main__":
    run()
