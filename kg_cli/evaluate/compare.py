"""Comparing saved results, and configurations that are measured when they have not been yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from kg_api.errors import InvalidInput
from kg_api.evaluate.saved.reading import read_result
from kg_api.evaluate.scores.comparing import compare
from kg_api.evaluate.scores.plots import plot_comparison
from kg_api.evaluate.sets.folder import read_set
from kg_api.managed import files
from kg_api.models.evaluation import Comparison
from kg_cli.evaluate.choice import parse_choice
from kg_cli.evaluate.run import RunSettings, SavedResult, evaluate
from kg_cli.terminal import console
from kg_cli.terminal.connect import open_client


def compare_results(
    paths: Sequence[Path],
    configs: Sequence[str],
    settings: RunSettings | None,
    metrics: Sequence[str] | None,
    against: str,
    *,
    fresh: bool,
) -> Comparison:
    """Compare saved results and configurations.

    Args:
        paths: files of results.
        configs: `name=value` pairs with commas between, one string a configuration.
        settings: on which set they are measured; None: there is none.
        metrics: what is tested; unset: the main measures.
        against: `first`, `best`, or the label of a configuration.
        fresh: measure again what was measured before.

    Raises:
        InvalidInput: they cannot be compared.
        KgError: a run fails.
    """
    if configs and settings is None:
        raise InvalidInput("configurations are measured on a set: name it with --set")
    saved = [SavedResult(read_result(path), path, reused=True) for path in paths]
    if configs and settings is not None:
        saved += _evaluate(configs, settings, fresh=fresh)
    found = compare([each.result for each in saved], metrics, against)
    return found.model_copy(
        update={"results": {label: str(each.path) for label, each in zip(found.labels, saved, strict=True)}}
    )


def _evaluate(configs: Sequence[str], settings: RunSettings, *, fresh: bool) -> list[SavedResult]:
    choices = [
        parse_choice(config.split(",")) for config in configs
    ]  # all are checked before the first is run
    questions = read_set(settings.folder)
    saved = list[SavedResult]()
    with open_client() as client:
        for choice in choices:
            each = evaluate(client, questions, choice, settings, reuse=not fresh)
            console.say(f"{'known' if each.reused else 'measured'}: {each.result.label}")
            saved.append(each)
    return saved


def save(comparison: Comparison, output: Path | None, folder: Path) -> Path:
    """Write a comparison as JSON, with its picture beside; give the file.

    Raises:
        InvalidInput: it cannot be written.
    """
    name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{comparison.data.name}-comparison.json"
    path = output or folder / name
    try:
        files.make_folder(path.absolute().parent)
        files.write_text(path, comparison.model_dump_json(indent=1) + "\n")
        plot_comparison(comparison, path.with_suffix(".png"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    console.say(f"saved: {path}")
    return path
