"""`kg eval`: measurement of search quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kg_api.schemas.vocabulary import Target, Tier
from kg_api.wording import pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import make_group
from kg_cli.terminal.connect import open_client

SetOption = Annotated[
    Path,
    typer.Option(
        "--set",
        "-s",
        help=(
            "Folder to read the question set from, with corpus.jsonl, queries.jsonl and "
            "qrels.tsv, or with spans."
        ),
    ),
]
TierOption = Annotated[
    Tier,
    typer.Option(
        help=("Number of questions to use: 50, 300 or all. These are the same questions in every run.")
    ),
]
TargetOption = Annotated[
    Target | None,
    typer.Option(
        help=(
            "Type of hits to judge: documents, judged passages or exact spans. The default "
            "depends on the set."
        )
    ),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        "--ontology", "-o", help=("Ontology to ingest the documents into. Default: a new ontology.")
    ),
]
InPlaceOption = Annotated[
    bool, typer.Option("--in-place", help="Use an ontology that already contains the documents.")
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="Folder to save results to. Default: `evaluations` in KG_HOME.")
]
MODE_HELP = "Mode of search: text, vector, hybrid, concepts, graph, augment, or answer."
group = make_group("Evaluate search quality, and compare.")


@group.command()
def run(
    *,
    folder: SetOption,
    mode: Annotated[str, typer.Option(help=MODE_HELP)] = "hybrid",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            help=(
                "Option to set, such as rerank=true, strategy=sentence or chunk_size=80. You can "
                "repeat this option."
            ),
        ),
    ] = None,
    tier: TierOption = "full",
    target: TargetOption = None,
    limit: options.Limit = 20,
    ontology: CorpusOption = None,
    in_place: InPlaceOption = False,
    results: ResultsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(help=("File to write the result to. Default: a new file in the results folder.")),
    ] = None,
    as_json: options.OwnJson = False,
) -> None:
    """Run every question of a set through search, and score the results.

    kg ingests the set once, into its own ontology. kg always saves the result
    with all scores and the configuration.

    Example: kg eval run --set ~/sets/handbook --mode hybrid --option rerank=true
    """
    from kg_api.evaluation.sets import read_set
    from kg_cli.evaluate.choice import parse_choice
    from kg_cli.evaluate.run import RunSettings, evaluate, print_result, result_json

    choice = parse_choice([f"mode={mode}", *(option or [])])
    settings = RunSettings(folder, tier, target, limit, ontology, in_place, _results(results))
    questions = read_set(folder)
    with open_client() as client:
        saved = evaluate(client, questions, choice, settings, output=output)
    if as_json:
        console.print_json(result_json(saved))
    else:
        print_result(saved)


@group.command()
def compare(
    saved_results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RESULT]...", help=("Saved results of `kg eval run` to compare.")),
    ] = None,
    *,
    folder: Annotated[
        Path | None, typer.Option("--set", "-s", help="Question set to run the configurations on.")
    ] = None,
    modes: Annotated[str | None, typer.Option(help="Modes to compare, such as text,vector,hybrid.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            "-c",
            help=("Configuration to compare, such as 'mode=hybrid,rerank=true'. You can repeat this option."),
        ),
    ] = None,
    against: Annotated[
        str, typer.Option(help="Baseline to compare with: first, best, or the name of a configuration.")
    ] = "first",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help=(
                "Metric to compare, such as ndcg@10. You can repeat this option. Default: the main metrics."
            ),
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help=("Run configurations again even if their results are already saved.")),
    ] = False,
    tier: TierOption = "full",
    target: TargetOption = None,
    limit: options.Limit = 20,
    ontology: CorpusOption = None,
    in_place: InPlaceOption = False,
    results: ResultsOption = None,
    output: Annotated[Path | None, typer.Option(help="Write the comparison to this JSON file.")] = None,
    as_json: options.OwnJson = False,
) -> None:
    """Compare results or configurations on the same questions, with paired significance tests.

    Name saved results, or a set and configurations. kg runs missing measurements.

    Example: kg eval compare --set ~/sets/handbook --modes text,vector,hybrid --against best
    """
    from kg_cli.evaluate.run import RunSettings, compare_results, print_comparison, save

    where = _results(results)
    settings = RunSettings(folder, tier, target, limit, ontology, in_place, where) if folder else None
    configs = [f"mode={mode}" for mode in (modes or "").split(",") if mode] + (config or [])
    found = compare_results(saved_results or [], configs, settings, metric, against, fresh=fresh)
    path = save(found, output, where)
    if as_json:
        console.print_json({**found.model_dump(mode="json"), "comparison": str(path)})
    else:
        print_comparison(found)


@group.command()
def make(
    *,
    ontology: Annotated[str, typer.Option("--ontology", "-o", help="Ontology to generate questions from.")],
    output: Annotated[Path, typer.Option(help="New folder to write the set to.")],
    count: Annotated[
        int, typer.Option(min=1, max=100_000, help="Maximum number of questions to make.")
    ] = 300,
    seed: Annotated[int, typer.Option(help="Random seed to use when choosing questions.")] = 0,
    kind: Annotated[
        Literal["quotes", "judgements"],
        typer.Option(
            "--kind", help=("Where to take questions from: quotes of concepts, or judgements of users.")
        ),
    ] = "quotes",
    as_json: options.OwnJson = False,
) -> None:
    """Make a question set from an ontology: documents, and questions that their quotes answer.

    A question names two concepts of one document, and their quotes are the answer.
    With `--kind judgements`, the questions are those with judged passages, from the web page or REST.

    Example: kg eval make --ontology notes --output ~/sets/notes --count 200
    """
    from kg_cli.evaluate.make import MakeSettings
    from kg_cli.evaluate.make import make as made

    with open_client() as client:
        about = made(client, output, MakeSettings(ontology, count, seed, kind))
    if as_json:
        console.print_json({**about, "set": str(output)})
        return
    console.say(
        f"{pluralize(about['questions'], 'question')} about {pluralize(about['documents'], 'document')}: "
        f"{about['kind']}"
    )
    console.note(*about["notes"])
    console.say(f"measure with: kg eval run --set {output} --ontology {ontology!r} --in-place")


def _results(folder: Path | None) -> Path:
    from kg_api.local.processes import Home
    from kg_api.settings import load_settings

    return folder or Home(load_settings().home).evaluations
