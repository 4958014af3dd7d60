"""`kg concept`: what documents are about, with the quotes that prove it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from kg_api.schemas.vocabulary import MAX_EVIDENCE, MAX_HOPS, MAX_PASSAGES, MAX_PATHS, MAX_RELATED
from kg_cli.terminal.connect import (
    SOME_FAILED,
    JsonOption,
    LimitOption,
    NeighboursOption,
    OffsetOption,
    OnlyOntologyOption,
    PageOption,
    QueryArgument,
    emit,
    open_client,
    report,
    require_words,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.concepts import views
else:
    views = LateModule("kg_cli.concepts.views")

Form = Literal["kg", "openie"]


ConceptArgument = Annotated[
    str, typer.Argument(help="A concept's id or name, or a phrase for it.", callback=require_words)
]
HopsOption = Annotated[int, typer.Option(min=1, max=MAX_HOPS, help="Maximum number of hops.")]
RelatedOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_RELATED, help="How many concepts.")
]

group = typer.Typer(help="Find concepts and what proves them.", no_args_is_help=True)


@group.command()
def search(
    text: QueryArgument,
    *,
    ontology: OnlyOntologyOption = None,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Find concepts by meaning, by words and by name.

    Example: kg concept search "delayed retries" --ontology notes
    """
    report(
        lambda kg: kg.search_concepts(text, ontology=ontology, limit=limit),
        views.print_concept_hits,
        as_json=as_json,
    )


@group.command()
def show(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    quotes: Annotated[
        int,
        typer.Option(
            "--quotes", "-q", min=1, max=MAX_EVIDENCE, help="How many quotes, and related concepts."
        ),
    ] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show a concept: what it is, the quotes that prove it with their place, and what it is related to.

    Example: kg concept show "lease" --ontology notes
    """
    report(
        lambda kg: kg.concept(views.take_concept(kg, concept, ontology), limit=quotes),
        views.print_concept,
        as_json=as_json,
    )


@group.command()
def related(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    hops: HopsOption = 1,
    limit: RelatedOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Show what a concept is related to, in the words of the texts.

    Example: kg concept related "lease" --hops 2
    """
    report(
        lambda kg: kg.related_concepts(views.take_concept(kg, concept, ontology), hops=hops, limit=limit),
        views.print_related,
        as_json=as_json,
    )


@group.command()
def relations(
    text: QueryArgument,
    *,
    ontology: OnlyOntologyOption = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only of this type; repeat for several.")
    ] = None,
    limit: LimitOption = 10,
    min_similarity: Annotated[
        float | None, typer.Option("--min-similarity", min=-1, max=1, help="Minimum cosine similarity.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find relationships by what they say, with the quotes that state them.

    Example: kg concept relations "what does a lease need" --type requires
    """
    named = {"ontologies": [ontology] if ontology else None, "types": kinds or None}
    report(
        lambda kg: kg.search_relationships(text, **named, limit=limit, min_similarity=min_similarity),
        views.print_relationships,
        as_json=as_json,
    )


@group.command()
def path(
    start: ConceptArgument,
    end: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    hops: HopsOption = MAX_HOPS,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_PATHS, help="Maximum number of paths.")
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Find the shortest paths between two concepts, through relationships or shared sources.

    Example: kg concept path "heartbeat" "retry" --hops 3
    """
    report(
        lambda kg: kg.concept_paths(start, end, ontology=ontology, hops=hops, limit=limit),
        views.print_paths,
        as_json=as_json,
    )


@group.command()
def context(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    window: NeighboursOption = 2,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", min=1, max=MAX_PASSAGES, help="How many of the sources that carry it."),
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show the sources in which a concept appears, with their neighbours.

    Example: kg concept context "lease" --window 1
    """
    with open_client() as client:
        identity = views.take_concept(client, concept, ontology)
        answer = client.get_concept_context(identity, window_size=window, limit=limit)
    emit(answer, views.print_passages, as_json=as_json)


@group.command()
def neighbourhood(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    limit: RelatedOption = 50,
    as_json: JsonOption = False,
) -> None:
    """Show the concepts around one and how they are connected; --json gives nodes and edges for a picture.

    Example: kg concept neighbourhood "lease" --limit 30 --json
    """
    report(
        lambda kg: kg.neighbourhood(views.take_concept(kg, concept, ontology), limit=limit),
        views.print_neighbourhood,
        as_json=as_json,
    )


@group.command("list")
def list_concepts(
    ontology: Annotated[str, typer.Argument(help="Name of an ontology.")],
    *,
    offset: OffsetOption = 0,
    limit: PageOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List the concepts of an ontology, those that most sources carry first.

    Example: kg concept list notes --limit 20
    """
    report(
        lambda kg: kg.concepts(ontology, offset=offset, limit=limit), views.print_concepts, as_json=as_json
    )


@group.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="JSON Lines; - reads standard input.", allow_dash=True)],
    *,
    ontology: Annotated[str, typer.Option("--ontology", "-o", help="Ontology of the documents.")],
    form: Annotated[
        Form,
        typer.Option("--format", help="kg, or openie: lines of HippoRAG (doc, title, entities, triples)."),
    ] = "kg",
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answers as one.")] = False,
) -> None:
    """Tie concepts to documents that are stored already, with the sentences that say them.

    A line names a document by its name or title, or a source by its id, and has concepts and relations:
    {"document": "notes/leases.md", "concepts": [{"label": "lease", "quotes": ["A worker renews its lease"]}],
    "relations": [["worker", "renews", "lease"]]}. The same again changes nothing. A row without its document
    is told and the others go on; the exit code is 3 then.

    Example: kg concept import openie.jsonl --ontology musique --format openie
    """
    from kg_api.schemas.concepts import portions
    from kg_cli.jobs.report import patiently
    from kg_cli.terminal import console

    rows = _read_rows(file, form)
    # rows go in portions; what the answers say is told as one
    total: dict[str, Any] = {"ontology": ontology, "concepts": 0, "concepts_are_at_most": False}
    with open_client() as client, console.progress("rows") as bar:
        task = bar.add_task("importing", total=len(rows))
        for number, portion in enumerate(portions(rows)):
            total["concepts_are_at_most"] = number > 0  # labels of several portions may be the same
            answer = patiently(partial(client.import_concepts, portion, ontology=ontology))
            for name, value in answer.model_dump(
                mode="json", exclude={"problems": {"__all__": {"row"}}}
            ).items():
                if not isinstance(value, str):
                    total[name] = total[name] + value if name in total else value
            bar.advance(task, len(portion))
    if as_json:
        console.print_json(total)
    else:
        views.print_import(total)
    if total["rows"] < len(rows):
        raise typer.Exit(SOME_FAILED)


def _read_rows(file: Path, form: Form) -> list[Any]:
    """The rows of a file.

    Raises:
        InvalidInput: naming the line that is none.
        UnreadableDocument: the file cannot be read.
    """
    from pydantic import ValidationError

    from kg_api.errors import InvalidInput
    from kg_api.schemas.concepts import ConceptRow, from_openie
    from kg_api.schemas.problems import describe_problems
    from kg_cli.terminal.console import numbered_lines, read_text

    rows: list[ConceptRow] = []
    for number, line in numbered_lines(read_text(file)):
        try:
            found = json.loads(line)
            if not isinstance(found, dict):
                raise InvalidInput(f"line {number} is not a JSON object")
            row = cast("dict[str, Any]", found)
            rows.append(ConceptRow.model_validate(from_openie(row) if form == "openie" else row))
        except ValidationError as error:
            problems = describe_problems(error.errors())
            raise InvalidInput(f"line {number}: {problems}. See kg concept import --help") from None
        except (ValueError, RecursionError):
            raise InvalidInput(f"line {number} is not valid JSON; each line must be one object") from None
    if not rows:
        raise InvalidInput("the file has no rows; nothing was imported")
    return rows
