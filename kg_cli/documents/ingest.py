"""Options of commands that take documents in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.formats import OcrMode
from kg_api.wording import pluralize
from kg_cli.terminal.connect import SOME_FAILED, JsonOption, OwnJsonOption, emit, open_client

if TYPE_CHECKING:
    from kg_api.schemas.documents import Ingested


def named_path(text: str) -> Path:
    """A path that a person named; an empty one, as of a variable that is not set, would be this folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty; `.` is the folder you are in")
    return Path(text)


IntoOntologyOption = Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the documents.")]
PrefixOption = Annotated[str, typer.Option(help="Prefix for each document's name.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until everything is embedded.")]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Metadata of each document; repeat."),
]
ListsOption = Annotated[
    list[str] | None,
    typer.Option("--list", metavar="KEY=A,B", help="A list, its values separated by commas; repeat."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Only files of folders that fit, as in .gitignore; repeat."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="PATTERN", help="Leave out files and folders that fit, as in .gitignore; repeat."
    ),
]
ReviewOption = Annotated[
    bool, typer.Option("--review", help="Let new and changed files wait until they are approved.")
]
OcrOption = Annotated[
    OcrMode,
    typer.Option("--ocr", help="PDF pages that OCR reads: those without readable text, all, or none."),
]
SkipDuplicatesOption = Annotated[
    bool,
    typer.Option("--skip-duplicates", help="Leave out new files whose text another document has already."),
]
GitignoreOption = Annotated[
    bool,
    typer.Option("--gitignore/--no-gitignore", help="Leave out what .gitignore files in folders name."),
]


# Taking documents and conversations in.


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders.", parser=named_path, metavar="paths")
    ],
    *,
    ontology: IntoOntologyOption,
    wait: WaitOption = False,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Show what would be created and its cost, and ask for confirmation."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Proceed after a preview without asking.")] = False,
    prefix: PrefixOption = "",
    metadata: MetadataOption = None,
    several: ListsOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    gitignore: GitignoreOption = True,
    skip_duplicates: SkipDuplicatesOption = False,
    review: ReviewOption = False,
    ocr: OcrOption = "auto",
    as_json: OwnJsonOption = False,
) -> None:
    """Ingest text, PDF, web pages, office files, e-mail. Unchanged files cost nothing, changed ones little.

    A document is named by its path below the folder given. Of a folder, files with endings that kg reads are
    taken, the others counted, as are empty files and what .gitignore, --exclude '*.log' or --include 'docs/'
    leave out; --json lists each. A file that is named itself is read as plain text if it is text. The exit
    code is 3 when a file could not be read, though the others are stored, and when nothing was taken at all.

    A file whose text another document has already is stored all the same, and that is said;
    --skip-duplicates leaves it out, unless its own name is stored already.

    If letters of a PDF come out wrong, --ocr always reads all of its pages as images.

    With --review files wait, neither embedded nor found, until kg documents approve.

    What --metadata and --list say (--metadata author=Ada --list tags=field,zoo) is kept with each document,
    beside what its file says of itself, and can be searched by (--where).

    With --preview nothing is stored, embedded or paid until you say yes; without a terminal --yes says it,
    and without that the exit code is 3. With --json and without --yes it only shows the preview.

    Example: kg ingest ~/notes --ontology notes --wait
    """
    from kg_api.text.documents import SUFFIXES
    from kg_api.text.files import FolderRules, select
    from kg_cli.documents.ingestion import Decision, Destination, read_metadata, run, show_preview

    into = Destination(
        ontology,
        read_metadata(metadata or [], several or []),
        skip_duplicates=skip_duplicates,
        review=review,
        ocr=ocr,
    )
    rules = FolderRules(include or (), exclude or (), gitignore=gitignore)
    selection = select(paths, SUFFIXES, prefix, rules=rules)
    with open_client() as client:
        if preview and selection.files:
            go_on = show_preview(client, selection, into, yes=yes, as_json=as_json)
            if go_on is not Decision.GO_ON:
                raise typer.Exit(SOME_FAILED if go_on is Decision.NOBODY_TO_ASK else 0)
        complete = run(client, selection, into, wait=wait, as_json=as_json)
    if not complete:
        raise typer.Exit(SOME_FAILED)


def conversation(
    file: Annotated[
        Path, typer.Argument(help="JSON or JSON Lines; - reads standard input.", allow_dash=True)
    ],
    *,
    ontology: IntoOntologyOption,
    title: Annotated[
        str,
        typer.Option(
            "--title",
            "-t",
            help="Title and name of the conversation; an existing one of that name is replaced.",
        ),
    ],
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest a conversation as one document, each message as a section.

    The file is a JSON list of messages, or has one on each line. A message has author, text and, if it is
    known, timestamp (ISO 8601 with a zone). When it has gone on, the same title again embeds what is new.

    Example: kg conversation standup.jsonl --ontology talks --title "Standup of 1 March" --wait
    """
    from kg_cli.jobs.report import wait_until_embedded
    from kg_cli.terminal.console import read_messages

    messages = read_messages(file)
    with open_client() as client:
        told = client.ingest_conversation(messages, ontology=ontology, title=title)
        if wait:
            wait_until_embedded(client, ontology, [told.job_id] if told.job_id else [])
    emit(told, _print, as_json=as_json)


def _print(told: Ingested) -> None:

    from kg_cli.terminal import console

    sources = told.sources
    changes = f"{pluralize(sources.added, 'source')} added, {sources.kept} kept, {sources.removed} removed"
    console.line(f"{told.ontology} / {told.document}: {told.change}; {changes}")
    for note in told.notes:
        console.line(f"  note: {note}")
