"""Importing concepts from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from kg_api.wording.plural import pluralize
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.exits import SOME_FAILED

Form = Literal["kg", "openie"]


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
    from kg_cli.terminal import console

    rows = read_rows(file, form)
    with open_client() as client:
        told = send(client, ontology, rows)
    if as_json:
        console.print_json(told)
    else:
        _report(told)
    if told["rows"] < len(rows):
        raise typer.Exit(SOME_FAILED)


def read_rows(file: Path, form: Form) -> list[Any]:
    """The rows of a file.

    Raises:
        InvalidInput: naming the line that is none.
        UnreadableDocument: the file cannot be read.
    """
    from pydantic import ValidationError

    from kg_api.errors import InvalidInput
    from kg_api.models.concepts.imports import ConceptRow, from_openie
    from kg_api.models.problems import describe_problems
    from kg_cli.terminal.inputs import numbered_lines, read_text

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


def send(client: Any, ontology: str, rows: Sequence[Any]) -> dict[str, Any]:
    """Send rows in portions; what the answers say, as one."""
    from kg_api.models.concepts.imports import portions
    from kg_cli.jobs.waiting import patiently
    from kg_cli.terminal import console

    total: dict[str, Any] = {"ontology": ontology, "concepts": 0, "concepts_are_at_most": False}
    with console.progress("rows") as bar:
        task = bar.add_task("importing", total=len(rows))
        for number, portion in enumerate(portions(rows)):
            total["concepts_are_at_most"] = number > 0  # labels of several portions may be the same
            answer = patiently(partial(client.import_concepts, portion, ontology=ontology))
            _add(total, answer.model_dump(mode="json"))
            bar.advance(task, len(portion))
    return total


def _add(total: dict[str, Any], answer: dict[str, Any]) -> None:
    for name, value in answer.items():
        if isinstance(value, str):
            continue
        if name == "problems":
            for problem in value:
                problem.pop("row")  # counted within its portion
        total[name] = total[name] + value if name in total else value


_SHOWN = 20


def _report(told: dict[str, Any]) -> None:

    from kg_cli.terminal import console

    at_most = "at most " if told["concepts_are_at_most"] else ""
    said = (
        f"{pluralize(told['rows'], 'row')}: {at_most}{pluralize(told['concepts'], 'different concept')}, "
        f"{pluralize(told['appearances'], 'time')} in {pluralize(told['sources'], 'source')}, "
        f"{told['unverified']} of them without a quote; {pluralize(told['relations'], 'relationship')}"
    )
    console.line(f"{told['ontology']}: {said}")
    if emptied := told["emptied"]:
        lost = f"all that was imported before for {pluralize(emptied, 'source')}"
        console.line(f"  removed: {lost}: rows that name it bring nothing that stands there")
    problems = told["problems"]
    for each in problems[:_SHOWN]:
        about = f" ({each['label']})" if each["label"] else ""
        console.line(f"  not placed: {each['place']}{about}: {each['reason']}")
    if (more := max(0, len(problems) - _SHOWN) + told["more_problems"]) > 0:
        console.stdout().print(f"  and {more} more; --json names them")
