"""`kg eval`: measurement of search quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from kg_api.schemas.vocabulary import Target, Tier
from kg_api.wording import pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import make_group
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option, repeated

TierOption = Annotated[Tier, option("Number of questions: 50, 300 or all, the same in every run.")]
TargetOption = Annotated[Target | None, option("Type of hits to judge. Default: from the question set.")]
CorpusOption = Annotated[str | None, option("Ontology to ingest into. Default: new.", "--ontology", "-o")]
InPlaceOption = Annotated[bool, option("Use an ontology that already contains the documents.", "--in-place")]
ResultsOption = Annotated[Path | None, option("Folder of results. Default: `evaluations` in KG_HOME.")]
MODE_HELP = "Mode of search: text, vector, hybrid, concepts, or graph."
group = make_group("Evaluate search quality, and compare.")


@group.command()
def run(
    *,
    folder: Annotated[
        Path, option("Folder of the set: corpus.jsonl, queries.jsonl, and qrels.tsv or spans.", "--set", "-s")
    ],
    mode: Annotated[str, option(MODE_HELP)] = "hybrid",
    option: Annotated[
        list[str] | None, repeated("Option, such as rerank=true or strategy=sentence.", "--option")
    ] = None,
    tier: TierOption = "full",
    target: TargetOption = None,
    limit: options.Limit = 20,
    ontology: CorpusOption = None,
    in_place: InPlaceOption = False,
    results: ResultsOption = None,
    output: Annotated[
        Path | None, option("File to write the result to. Default: a new file in the results folder.")
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
    from kg_cli.evaluate.run import RunSettings, build_result_json, evaluate, print_result

    choice = parse_choice([f"mode={mode}", *(option or [])])
    settings = RunSettings(folder, tier, target, limit, ontology, in_place, _get_results_folder(results))
    questions = read_set(folder)
    with open_client() as client:
        saved = evaluate(client, questions, choice, settings, output=output)
    if as_json:
        console.print_json(build_result_json(saved))
    else:
        print_result(saved)


@group.command()
def compare(
    saved_results: Annotated[
        list[Path] | None, argument("Saved results of `kg eval run` to compare.", metavar="[RESULT]...")
    ] = None,
    *,
    folder: Annotated[
        Path | None, option("Question set to run the configurations on.", "--set", "-s")
    ] = None,
    modes: Annotated[str | None, option("Modes to compare, such as text,vector,hybrid.")] = None,
    config: Annotated[
        list[str] | None, repeated("Configuration, such as 'mode=hybrid,rerank=true'.", "--config", "-c")
    ] = None,
    against: Annotated[str, option("Baseline: first, best, or the name of a configuration.")] = "first",
    metric: Annotated[
        list[str] | None, repeated("Metric, such as ndcg@10. Default: the main metrics.", "--metric", "-m")
    ] = None,
    fresh: Annotated[
        bool, option("Run configurations again even if their results are already saved.", "--fresh")
    ] = False,
    tier: TierOption = "full",
    target: TargetOption = None,
    limit: options.Limit = 20,
    ontology: CorpusOption = None,
    in_place: InPlaceOption = False,
    results: ResultsOption = None,
    output: Annotated[Path | None, option("Write the comparison to this JSON file.")] = None,
    as_json: options.OwnJson = False,
) -> None:
    """Compare results or configurations on the same questions, with paired significance tests.

    Name saved results, or a set and configurations. kg runs missing measurements.

    Example: kg eval compare --set ~/sets/handbook --modes text,vector,hybrid --against best
    """
    from kg_cli.evaluate.run import RunSettings, compare_results, print_comparison, save

    where = _get_results_folder(results)
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
    ontology: Annotated[str, option("Ontology to generate questions from.", "--ontology", "-o")],
    output: Annotated[Path, option("New folder to write the set to.")],
    count: Annotated[int, option("Maximum number of questions to make.", min=1, max=100_000)] = 300,
    seed: Annotated[int, option("Random seed to use when choosing questions.")] = 0,
    kind: Annotated[
        Literal["quotes", "judgements"], option("Questions from quotes of concepts, or judgements of users.")
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


def _get_results_folder(folder: Path | None) -> Path:
    from kg_api.local.processes import Home
    from kg_api.settings import load_settings

    return folder or Home(load_settings().home).evaluations
