"""How often a search shows a note above a right answer, and none although the answer is missing.

    python -m benchmarks.note_errors ../shared/data/xquad/en ../shared/data/xquad/de

The documents of every second article of a set are ingested. Questions about them have an answer, and a note
about them is false. Questions about the other articles have none, and their note must not be missing. Each
question is also asked as its first four content words.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

from benchmarks.fusion import ingest_set, last_document
from benchmarks.stack import machine, stack
from kg_api.client import KgClient
from kg_api.evaluation.sets import read_set
from kg_api.graph.fulltext import split_question_terms
from kg_api.schemas.evaluation import QuestionSet, SetQuery
from kg_api.search.fusion import find_content_words

QUESTIONS = 100
KEYWORDS = 4


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, nargs="+")
    chosen = parser.parse_args()
    counted = dict[str, dict[str, dict[str, int]]]()
    with stack() as running, running.client() as client:
        for folder in chosen.sets:
            name = "-".join(folder.parts[-2:])
            half = half_of(read_set(folder), name)
            ingest_set(client, half)
            last = str(last_document(running.home.path))
            running.kg("ingest", last, "--ontology", name, "--wait", "--json")
            short = tuple(replace(each, text=keep_keywords(each.text)) for each in half.queries)
            keywords = count_errors(client, replace(half, queries=short))
            counted[name] = {"questions": count_errors(client, half), "keywords": keywords}
    print(json.dumps({"machine": machine(), "errors": counted}, indent=2))


def half_of(questions: QuestionSet, name: str) -> QuestionSet:
    """Return the set with the documents of every second article. Ids begin with the number of the article."""
    documents = [each for each in questions.documents if int(each.document.split("-")[0]) % 2 == 0]
    return replace(questions, name=name, documents=tuple(documents))


def keep_keywords(question: str) -> str:
    """Return the first content words of a question."""
    content = find_content_words(question)
    words = [word for word in split_question_terms(question) if word.casefold() in content]
    return " ".join(words[:KEYWORDS])


def count_errors(client: KgClient, half: QuestionSet) -> dict[str, int]:
    asked, there = list(half.queries), {each.document for each in half.documents}
    random.Random(7).shuffle(asked)
    answered = [each for each in asked if there & each.relevant.keys()][:QUESTIONS]
    unanswered = [each for each in asked if not there & each.relevant.keys()][:QUESTIONS]

    def notes(queries: list[SetQuery]) -> list[tuple[bool | None, bool, bool]]:
        """Return `near`, whether the first hit is right, and whether there is a note."""
        found = [(each, client.search_sources(each.text, ontology=half.name)) for each in queries]
        return [
            (
                hits.near,
                bool(hits.sources) and hits.sources[0].document in each.relevant,
                hits.note is not None,
            )
            for each, hits in found
        ]

    own, other = notes(answered), notes(unanswered)
    return {
        "answered": len(own),
        "false notes": sum(near is False for near, _, _ in own),
        "of these above a right first hit": sum(near is False and right for near, right, _ in own),
        "unanswered": len(other),
        "missing notes": sum(near is True for near, _, _ in other),
        "notes about the language": sum(near is not False and told for near, _, told in [*own, *other]),
    }


if __name__ == "__main__":
    main()
