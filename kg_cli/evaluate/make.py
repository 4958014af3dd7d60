"""A question set made from an ontology's documents."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, cast

from rich.markup import escape

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.errors import InvalidInput, LlmFailed, NotFound
from kg_api.evaluate.sets.instances import numbered
from kg_api.evaluate.sets.judged import judged_queries
from kg_api.evaluate.sets.quotes import sample_quotes
from kg_api.evaluate.sets.writing import write_set
from kg_api.models.evaluation import SetDocument, SetQuery
from kg_api.models.library.parsing import Format
from kg_api.models.queries.judgements import Judgement, judged_place
from kg_api.parse.documents import parse
from kg_api.parse.sentences import sentence_borders
from kg_api.settings import load_settings
from kg_api.wording.plural import pluralize
from kg_cli.evaluate.corpus import list_documents
from kg_cli.evaluate.instances import instance_queries, is_answered_by_text
from kg_cli.jobs.waiting import patiently
from kg_cli.terminal import console

QuestionKind = Literal["quotes", "sentences", "judgements"]
"""Of what questions are made: the quotes of concepts, sentences, or what people judged."""
KINDS: dict[QuestionKind, str] = {
    "quotes": "pairs of concepts whose quotes answer: they favour searches through concepts",
    "sentences": "sentences of the documents: they favour full text, and say nothing about other words",
    "judgements": "questions that people asked, with the passages that they judged",
}
GENERATED: dict[QuestionKind, str] = {
    "quotes": "questions written by a language model for quotes of concepts",
    "sentences": "questions written by a language model for sentences of the documents",
}
HARD = "; those that full text answers in the first place are left out, which is to its disadvantage"
TRIED = 20
"""Questions that are looked at for each that is wanted; of the others full text answers too many."""
_PAGE = 1000
_AROUND = 1500
"""Characters on either side of a sentence that a language model sees."""
_PROSE = {"paragraph", "list_item"}


@dataclass(frozen=True, slots=True)
class MakeSettings:
    """What questions are wanted."""

    ontology: str
    count: int
    """How many, at most."""
    seed: int
    """The same one chooses the same."""
    kind: QuestionKind | None = None
    """Unset: quotes where there are concepts, else sentences."""
    llm: bool = False
    """Have a language model ask for them in its own words."""
    easy: bool = False
    """Keep those that full text answers in the first place, too."""


def make(client: KgClient, folder: Path, wanted: MakeSettings) -> dict[str, Any]:
    """Make a set and write it.

    Args:
        client: of the service.
        folder: where the set goes; new or empty.
        wanted: what questions.

    Returns:
        What was made, as it is also written to about.json.

    Raises:
        NotFound: there is no such ontology, or nothing in it.
        InvalidInput: nothing in it can be a question.
        KgError: the service or the language model stays away.
    """
    if wanted.kind == "judgements":
        return _make_judged(client, folder, wanted)
    documents = _documents(client, wanted.ontology)
    kind = wanted.kind or _usual_kind(client, wanted.ontology)
    filtered = not wanted.easy and (kind == "quotes" or wanted.llm)
    told = Counter[str]()
    queries = list(islice(_queries(client, documents, wanted, kind, told, filtered=filtered), wanted.count))
    if not queries:
        raise InvalidInput(_nothing(wanted.ontology, kind, told))
    about = {
        **_about(wanted, documents, queries),
        "kind": (GENERATED if wanted.llm else KINDS)[kind] + (HARD if filtered else ""),
        "answered_by_full_text": told["easy"],
        "left_out": told["failed"],
        "seed": wanted.seed,
    }
    write_set(folder, documents, numbered(queries), about)
    return about


def _make_judged(client: KgClient, folder: Path, wanted: MakeSettings) -> dict[str, Any]:
    """Write what people judged; what is left out is told."""
    if wanted.llm or wanted.easy:
        raise InvalidInput("--kind judgements takes questions as they were asked; leave --llm and --easy out")
    judged = judged_queries(map(judged_place, _list_judged(client, wanted.ontology)))
    documents = _documents(client, wanted.ontology)
    names = {each.document for each in documents}  # some may have come after these
    there = [each for each in judged.queries if each.relevant.keys() <= names]
    queries = sorted(there, key=lambda each: each.query_id)[: wanted.count]
    if not queries:
        raise InvalidInput(
            f"no passage of {wanted.ontology!r} is judged to answer a question: judge hits on the search "
            "page, or with `kg eval judgements set`"
        )
    notes = list(judged.notes)
    if left := len(judged.queries) - len(queries):
        notes.append(f"{pluralize(left, 'question')} left out: more than --count, or changed at this moment")
    about = {
        **_about(wanted, documents, queries),
        "kind": KINDS["judgements"],
        "answered_by_full_text": 0,
        "left_out": left,
        "notes": notes,
    }
    write_set(folder, documents, queries, about)
    return about


def _list_judged(client: KgClient, ontology: str) -> Iterator[Judgement]:
    offset, total = 0, 1
    while offset < total:
        page = patiently(partial(client.judgements, ontology, offset=offset, limit=_PAGE))
        yield from page.judgements
        offset, total = offset + _PAGE, page.total


def _about(
    wanted: MakeSettings, documents: Sequence[SetDocument], queries: Sequence[SetQuery]
) -> dict[str, Any]:
    """What a set says of itself, whatever it was made of."""
    return {
        "ontology": wanted.ontology,
        "questions": len(queries),
        "documents": len(documents),
        "kg": __version__,
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _queries(
    client: KgClient,
    documents: Sequence[SetDocument],
    wanted: MakeSettings,
    kind: QuestionKind,
    told: Counter[str],
    *,
    filtered: bool,
) -> Iterator[SetQuery]:
    """Questions, as many as can be had; `told` counts those that were left out."""
    most = TRIED * wanted.count if filtered else wanted.count
    found = _places(client, documents, wanted, kind, most)
    tried = islice(found, most)
    asked = _ask_queries(documents, tried, told) if wanted.llm else tried
    with console.progress("questions") as bar:
        for query in bar.track(asked, total=most, description="looking for questions"):
            of_many = len(documents) > 1
            if filtered and is_answered_by_text(client, wanted.ontology, query, of_many=of_many):
                told["easy"] += 1
            else:
                yield query


def _places(
    client: KgClient, documents: Sequence[SetDocument], wanted: MakeSettings, kind: QuestionKind, most: int
) -> Iterator[SetQuery]:
    if kind == "quotes":
        return instance_queries(client, wanted.ontology, documents, most, wanted.seed)
    with console.progress("documents") as bar:
        sentences = (_sentences(each) for each in bar.track(documents, description="reading"))
        return iter(sample_quotes(documents, sentences, most, wanted.seed))


def _usual_kind(client: KgClient, ontology: str) -> QuestionKind:
    return "quotes" if patiently(partial(client.concepts, ontology, limit=1)).total else "sentences"


def _nothing(ontology: str, kind: QuestionKind, told: Counter[str]) -> str:
    if told["easy"]:
        return (
            f"full text answers all {told['easy']} questions about {ontology!r} that were tried in the first "
            "place; keep them with --easy"
        )
    if kind == "sentences":
        return f"no sentence of {ontology!r} is long enough to be a question"
    return (
        f"no two concepts of {ontology!r} are quoted in the same few passages; make questions of sentences "
        "with --kind sentences"
    )


def _documents(client: KgClient, ontology: str) -> list[SetDocument]:
    with console.progress("documents") as bar:
        listed = list(list_documents(client, ontology))
        if not listed:
            raise NotFound(f"no ontology {ontology!r} has documents; `kg ontologies` lists the existing ones")
        fetching = bar.track(listed, description="fetching")
        found = (patiently(partial(client.document, each.document_id)) for each in fetching)
        return [SetDocument(one.document, one.text, one.title, cast("Format", one.format)) for one in found]


def _sentences(document: SetDocument) -> list[tuple[int, int]]:
    """The sentences of prose; headings, code and tables ask nothing."""
    blocks = parse(document.text, document.document, document.format).blocks
    return [
        span
        for block in blocks
        if block.kind in _PROSE
        for span in pairwise(
            [block.start, *sentence_borders(document.text, block.start, block.end), block.end]
        )
    ]


def _ask_queries(
    documents: Sequence[SetDocument], queries: Iterable[SetQuery], told: Counter[str]
) -> Iterator[SetQuery]:
    """The same places, asked for by a language model; where it fails the question is left out and told.

    Raises:
        LlmFailed: it gives no question at all.
    """
    from kg_api.llm.ask_back import ask_back
    from kg_api.llm.chat import open_chat

    texts = {each.document: each.text for each in documents}
    asked = 0
    with closing(open_chat(load_settings())) as chat:
        for query in queries:
            span = query.references[0]
            text = texts[span.document]
            passage = text[max(0, span.start - _AROUND) : span.end + _AROUND]
            try:
                yield replace(query, text=ask_back(chat.ask, passage, text[span.start : span.end]))
                asked += 1
            except LlmFailed as error:
                told["failed"] += 1
                console.say(escape(f"left out: {error}"))
    if told["failed"] and not asked:
        raise LlmFailed("the language model gives no question at all; choose another by KG_LLM__MODEL")
