"""`kg admin concepts`: how concepts are extracted, what that costs, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.models.vocabulary import MAX_PER_SOURCE, ExtractorName
from kg_api.wording.plural import are, pluralize

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.models.concepts.extraction_config import ExtractionCost, ExtractionStatus

Name = Annotated[str, typer.Option("--ontology", "-o", help="The ontology.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


Chosen = Annotated[
    ExtractorName | None,
    typer.Option(help="llm: by the language model, with relationships; keyphrase; none."),
]
PerSource = Annotated[
    int | None, typer.Option(min=1, max=MAX_PER_SOURCE, help="Maximum number of concepts per source.")
]
Budget = Annotated[
    float | None, typer.Option(min=0, help="Total budget for the language model, in US dollars.")
]


def register(admin: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The concepts of sources.", no_args_is_help=True)
    for command in (status, config, preview, extract, refused):
        group.command(command.__name__)(command)
    admin.add_typer(group, name="concepts")


def status(*, ontology: Name, as_json: AsJson = False) -> None:
    """Count the sources that were read, those that are due, and what was found.

    Example: kg admin concepts status --ontology notes
    """
    from kg_cli.concepts.pending import concepts_to_follow
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import say

    with open_client() as client:
        found = client.extraction_config(ontology)
        _print_status(found, as_json=as_json)
        if not as_json and (told := concepts_to_follow(client, ontology, found)):
            say(told)


def config(
    *,
    ontology: Name,
    extractor: Chosen = None,
    per_source: PerSource = None,
    budget: Budget = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effects and the cost; change nothing.")
    ] = False,
    create: Annotated[
        bool, typer.Option("--create", help="Create the ontology if it does not exist.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show or, with options, change the extraction configuration, which starts the work.

    What is not given stays as it is. An ontology that is not there is made with --create only. A job that
    has used up its money goes on with a larger budget.

    Example: kg admin concepts config --ontology notes --extractor llm --budget 2
    """
    from kg_cli.terminal.connect import open_client

    given = {"extractor": extractor, "per_source": per_source, "budget": budget}
    chosen = {name: value for name, value in given.items() if value is not None}
    with open_client() as client:
        if chosen or create:
            found = _configure_ontology(client, ontology, chosen, dry_run=dry_run, create=create)
        else:
            found = client.extraction_config(ontology)
        _print_status(found, as_json=as_json)


def preview(
    *,
    ontology: Name,
    extractor: Chosen = None,
    per_source: PerSource = None,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the requests, tokens and cost of extraction; calls no model and changes nothing.

    Example: kg admin concepts preview --ontology notes --extractor llm
    """
    from kg_cli.terminal.connect import open_client

    given = {"extractor": extractor, "per_source": per_source, "budget": budget}
    chosen = {name: value for name, value in given.items() if value is not None}
    with open_client() as client:
        if chosen:
            found = _configure_ontology(client, ontology, chosen, dry_run=True, create=False)
        else:
            found = client.extraction_config(ontology, with_cost=True)
    _print_status(found, as_json=as_json)


def extract(*, ontology: Name, as_json: AsJson = False) -> None:
    """Start extracting concepts from what is due; failed sources are retried.

    It happens automatically after ingestion, unless the extractor is none.

    Example: kg admin concepts extract --ontology notes && kg jobs watch
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        started = client.extract_concepts(ontology)
    if as_json:
        print_json(started.model_dump(mode="json"))
    elif started.job_id is None:
        say("Nothing is due.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be read; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def refused(*, ontology: Name, as_json: AsJson = False) -> None:
    """List the sources from which extraction failed, and why.

    Example: kg admin concepts refused --ontology notes
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table, say

    with open_client() as client:
        found = client.extraction_refused(ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    rows = [[f"{each.document}, paragraph {each.paragraph}", each.reason] for each in found.sources]
    if rows:
        print_table(["source", "reason"], rows)
    say(f"set aside: {pluralize(found.total, 'source')}; `kg admin concepts extract` tries them again")


def _configure_ontology(
    client: KgClient, ontology: str, chosen: dict[str, Any], *, dry_run: bool, create: bool
) -> ExtractionStatus:
    """Change only what was named."""
    if not create:
        client.extraction_config(ontology)  # a slip of the finger must not make an ontology
    return client.set_extraction_config(ontology, dry_run=dry_run, **chosen)


def _print_status(found: ExtractionStatus, *, as_json: bool) -> None:
    from rich.markup import escape

    from kg_cli.terminal.console import print_json, print_table, say

    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    used, relations = found.used, pluralize(found.relations, "relationship")
    refused = f", {found.refused} set aside" if found.refused else ""
    rows = [
        ("extractor", _set_or_usual(used.extractor, found.config.extractor)),
        ("concepts a source", _set_or_usual(f"at most {used.per_source}", found.config.per_source)),
        ("sources", f"{found.total}: {found.extracted} read, {found.due} due{refused}"),
        (
            "found",
            f"{pluralize(found.concepts, 'concept')}, {pluralize(found.quotes, 'quote')}, {relations}",
        ),
        *_unverified(found),
        *_money(found),
        *(_cost(found.cost) if found.cost else ()),
    ]
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    print_table(["setting", "value"], rows, title=title)
    for word, told in _troubles(found):
        say(f"{word}: {escape(told)}")


def _troubles(found: ExtractionStatus) -> list[tuple[str, str]]:
    told = [("problem", found.problem)] if found.problem else []
    if found.last_error:
        again = f"when that is mended: kg admin concepts extract --ontology {found.ontology!r}"
        told.append(("last job", f"{found.last_error}; {again}"))
    return [*told, *(("note", note) for note in found.notes)]


def _set_or_usual(value: str, own: object) -> str:
    return value if own is not None else f"{value} (the service's setting)"


def _unverified(found: ExtractionStatus) -> list[tuple[str, str]]:
    if not found.unverified_quotes and not found.unverified_concepts:
        return []
    quotes, concepts = found.unverified_quotes, found.unverified_concepts
    return [("not proved", f"{quotes} quotes that are not in their sources, {concepts} concepts without one")]


def _money(found: ExtractionStatus) -> list[tuple[str, str]]:
    budget = found.used.budget
    told = [] if budget is None else [("budget", f"${budget:g}")]
    if found.used.extractor == "llm" or found.spent:
        bound = "no bound" if budget is None else f"of ${budget:g}"
        told.append(("spent", f"${found.spent:.4f}, {bound}"))
    return told


def _cost(cost: ExtractionCost) -> list[tuple[str, str]]:
    told = [("to read", f"{pluralize(cost.sources, 'source')}")]
    if cost.requests:
        tokens = f"about {pluralize(cost.tokens_read, 'token')} read, {cost.tokens_written} written"
        told.append(("language model", f"about {pluralize(cost.requests, 'request')}: {tokens}"))
    price = "not known" if cost.price is None else f"about ${cost.price:.4f}" if cost.price else "nothing"
    return [*told, ("price", price), *(("", note) for note in cost.notes)]
