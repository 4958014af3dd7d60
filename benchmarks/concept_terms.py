"""Precision and recall of concepts that are found without a language model, against terms marked by reading.

    python -m benchmarks.concept_terms
    python -m benchmarks.concept_terms --per-source 20 --show    # with what is missed and wrong

The passages and the rules by which they were marked: tests/data/terms/README.md. Rules and lists are made by
looking at the tuning half alone, so `--show` tells nothing of the other one. No database.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from benchmarks.term_gold import GOLD, MarkedDocument, Outcome, Score, read_gold, score
from kg_api.schemas.concepts import PER_SOURCE


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-source", type=int, default=PER_SOURCE["keyphrase"])
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    rows = defaultdict[tuple[str, str], Score](Score)
    for document in read_gold(chosen.gold):
        outcomes = score(document, chosen.per_source)
        total = sum((each.score for each in outcomes), Score())
        for group in groups(document):
            rows[document.about["half"], group] += total
        if chosen.show and document.about["half"] == "tuning":
            show(document, outcomes)
    print("| half | passages | terms | precision | recall |\n| --- | --- | --- | --- | --- |")
    for (half, group), total in sorted(rows.items(), reverse=True):
        print(f"| {half} | {group} | {total.terms} | {total.precision:.3f} | {total.recall:.3f} |")


def groups(document: MarkedDocument) -> tuple[str, ...]:
    """What a document counts for."""
    language, genre = document.about["language"], document.about["genre"]
    return ("all", language, f"{language} {genre}") if language == "en" else ("all", language)


def show(document: MarkedDocument, outcomes: list[Outcome]) -> None:
    """Print what is missed and wrong."""
    for each in outcomes:
        print(document.name, "missed:", "; ".join(each.missed), "\n    wrong:", "; ".join(each.wrong))


if __name__ == "__main__":
    main()
