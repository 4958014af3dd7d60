"""Ingestion of a question set, and creation of question sets from ontologies."""

from __future__ import annotations

import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, KgError, NotFound, Unavailable
from kg_api.evaluation.run import EVALUATED, SentDocument, build_sent_document, describe_embedding
from kg_api.evaluation.sets import (
    MAX_SOURCES,
    build_judged_queries,
    build_pair_query,
    number_queries,
    write_set,
)
from kg_api.schemas.base import Page
from kg_api.schemas.concepts import Concept
from kg_api.schemas.documents import DocumentContent, DocumentSummary, Ingested
from kg_api.schemas.embedding import EmbeddingConfiguration
from kg_api.schemas.evaluation import QuestionSet, SetDocument, SetQuery
from kg_api.schemas.formats import CONVERTED, TextFormat
from kg_api.wording import pluralize
from kg_cli.documents.ingestion import PARALLEL_UPLOADS
from kg_cli.evaluate.choice import Choice
from kg_cli.jobs.report import (
    list_unfinished_jobs,
    retry_while_unavailable,
    wait_for_jobs,
    wait_until_embedded,
)
from kg_cli.terminal import console

ItemT = TypeVar("ItemT")
PageT = TypeVar("PageT", bound=Page)

_MAX_NAME_LENGTH = 60
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents of a set, stored in an ontology."""

    ontology: str
    sent: Mapping[str, SentDocument]
    description: Mapping[str, Any]  # embedding configuration, for the saved result


def store_missing_documents(
    client: KgClient, questions: QuestionSet, choice: Choice, ontology: str | None
) -> Corpus:
    """Store missing documents of a set, by default in a separate ontology, and wait for their embedding."""
    # name of the set, content, and a configuration other than the default
    words = re.sub(r"[^\w.\-]+", "-", questions.name).strip("-.")[:_MAX_NAME_LENGTH]
    name = ontology or "-".join(filter(None, ["eval", words, questions.corpus_hash[:8], choice.corpus]))
    sent = {each.document: build_sent_document(each) for each in questions.documents}
    stored = {each.document: each for each in _list_stored(client, name)}
    if strangers := sorted(stored.keys() - sent.keys()):
        raise Conflict(
            f"the ontology {name!r} holds documents that are not of this set, such as {strangers[0]!r}. "
            "Omit --ontology to create a new one, or add --in-place to use it unchanged."
        )
    if own := sorted(each.document for each in stored.values() if not (each.uri or "").startswith(EVALUATED)):
        raise Conflict(
            f"the ontology {name!r} holds documents of your own, such as {own[0]!r}, which would be "
            "replaced. Omit --ontology, or add --in-place to use it unchanged."
        )
    _configure(client, name, choice, exists=bool(stored))
    there = {each.document: each.uri for each in stored.values()}
    due = [each for each in sent.values() if there.get(each.document) != each.uri]
    if due:
        with console.progress("documents") as bar, ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
            task = bar.add_task("ingesting", total=len(due))
            for _ in pool.map(partial(_send, client, name), due):  # an error cancels the pending requests
                bar.advance(task)
    wait_until_embedded(client, name, list_unfinished_jobs(client, ontology=name))
    return Corpus(name, sent, _read_embedding(client, name))


def use_ontology(client: KgClient, questions: QuestionSet, ontology: str) -> Corpus:
    """Use an existing ontology, which must contain the documents of the set and may contain more."""
    sent = {each.document: build_sent_document(each, in_place=True) for each in questions.documents}
    stored = {each.document: each for each in _list_stored(client, ontology)}
    for each in sent.values():
        there = stored.get(each.document)
        if there is None:
            raise NotFound(
                f"the ontology {ontology!r} has no document {each.document!r}, which the set names"
            )
        if there.characters != each.length:
            raise Conflict(
                f"{each.document!r} has {each.length} characters in the set and {there.characters} in "
                f"{ontology!r}: it was changed since the set was made. Make the set again."
            )
    return Corpus(ontology, sent, _read_embedding(client, ontology))


def _list_stored(client: KgClient, ontology: str) -> Iterator[DocumentSummary]:
    if ontology in {each.ontology for each in retry_while_unavailable(client.ontologies).ontologies}:
        yield from _list_documents(client, ontology)


def wait_for_concepts(client: KgClient, corpus: Corpus) -> Corpus:
    """Wait until all concepts are extracted and embedded, and add their number to the description."""
    name = corpus.ontology
    wait_for_jobs(client, list_unfinished_jobs(client, kind="concept_extraction", ontology=name))
    embed_single = partial(client.search_concepts, "concepts", ontology=name, limit=1)
    retry_while_unavailable(embed_single)  # a search embeds concepts with a single source
    wait_for_jobs(client, list_unfinished_jobs(client, kind="concept_embedding", ontology=name))
    found = retry_while_unavailable(partial(client.extraction_config, name))
    if not found.concepts:
        raise Conflict(
            f"the ontology {name!r} has no concepts, and this mode needs them. Set an extractor "
            f"by `kg admin concepts config --ontology {name!r} --extractor keyphrase`, or choose another mode"
        )
    fields = {**found.used.model_dump(exclude={"budget"}), "found": found.concepts, "due": found.due}
    return replace(corpus, description={**corpus.description, "concepts": fields})


def _read_pages(read: Callable[..., PageT], items: Callable[[PageT], Sequence[ItemT]]) -> Iterator[ItemT]:
    offset, total = 0, 1
    while offset < total:
        page = retry_while_unavailable(partial(read, offset=offset, limit=_PAGE))
        yield from items(page)
        offset, total = offset + _PAGE, page.total


def _list_documents(client: KgClient, ontology: str) -> Iterator[DocumentSummary]:
    return _read_pages(partial(client.documents, ontology), lambda page: page.documents)


def _configure(client: KgClient, ontology: str, choice: Choice, *, exists: bool) -> None:
    """Configure a new ontology. Raise Conflict if an existing one has another configuration."""
    if not exists:
        if choice.embedding:
            client.set_embedding_config(ontology, **choice.embedding)
        if choice.extraction:
            client.set_extraction_config(ontology, **choice.extraction)
        return
    wanted = {**choice.embedding, **choice.extraction}
    config = client.embedding_config(ontology).config.model_dump() if choice.embedding else {}
    if choice.extraction:
        config |= client.extraction_config(ontology).used.model_dump()
    if other := [name for name, value in wanted.items() if config.get(name) != value]:
        raise Conflict(
            f"the ontology {ontology!r} is embedded otherwise ({', '.join(other)}). Omit --ontology "
            "to create a new one."
        )


def _send(client: KgClient, ontology: str, sent: SentDocument) -> Ingested:
    send = partial(client.ingest_text, sent.text, ontology=ontology, document=sent.document)
    try:
        return retry_while_unavailable(partial(send, title=sent.title, format=sent.format, uri=sent.uri))
    except Unavailable:
        raise
    except KgError as error:
        raise type(error)(f"the document {sent.document!r} of the set: {error}") from error


def _read_embedding(client: KgClient, ontology: str) -> dict[str, Any]:
    """Read the embedding configuration and the model."""
    found: EmbeddingConfiguration = retry_while_unavailable(partial(client.embedding_config, ontology))
    return describe_embedding(ontology, found, retry_while_unavailable(client.embedding_spaces).spaces)


# Questions from quotes of concepts

_QUOTES = 50  # per concept, more than a concept of few sources has


def generate_instance_queries(
    client: KgClient, ontology: str, documents: Sequence[SetDocument], count: int, seed: int
) -> Iterator[SetQuery]:
    """Yield questions for random pairs of concepts. Each concept is used once, spread over the documents."""
    most = math.ceil(2 * count / len(documents))  # twice the fair share of a document
    names, taken, used = {each.document for each in documents}, Counter[str](), set[str]()
    listed = _read_pages(partial(client.concepts, ontology), lambda page: page.concepts)
    found = [each for each in listed if each.verified and each.sources <= MAX_SOURCES]
    dice = random.Random(seed)  # noqa: S311 - a sample, not a secret
    for concept in dice.sample(sorted(found, key=lambda each: each.concept_id), len(found)):
        if concept.concept_id in used:
            continue
        made = _build_question(client, concept, used)
        if made is None:
            continue
        query, ids = made
        document = query.references[0].document
        if document in names and taken[document] < most:
            used |= ids
            taken[document] += 1
            yield query


def _build_question(client: KgClient, concept: Concept, used: set[str]) -> tuple[SetQuery, set[str]] | None:
    """Return a question for a concept and a frequent concept that appears with it, and the ids of both."""
    details = retry_while_unavailable(partial(client.concept, concept.concept_id, limit=_QUOTES))
    beside = [
        each for each in details.related if each.concept.verified and each.concept.concept_id not in used
    ]
    few = [each for each in beside if each.concept.sources <= MAX_SOURCES]
    for each in sorted(few, key=lambda one: (-one.concept.sources, one.concept.concept_id)):
        other = retry_while_unavailable(partial(client.concept, each.concept.concept_id, limit=_QUOTES))
        if query := build_pair_query(details, other, each.sources):
            return query, {concept.concept_id, each.concept.concept_id}
    return None


# Question sets from documents

QuestionKind = Literal["quotes", "judgements"]
KINDS: dict[QuestionKind, str] = {
    "quotes": "pairs of concepts with their quotes as answers, which favour searches through concepts",
    "judgements": "questions of users, with judged passages",
}


@dataclass(frozen=True, slots=True)
class MakeSettings:
    ontology: str
    count: int
    seed: int  # the same seed selects the same questions
    kind: QuestionKind = "quotes"


def make(client: KgClient, folder: Path, wanted: MakeSettings) -> dict[str, Any]:
    """Make a set, write it to a new folder, and return the content of its about.json."""
    documents = _read_documents(client, wanted.ontology)
    select = _select_judged if wanted.kind == "judgements" else _select_quotes
    queries, notes = select(client, documents, wanted)
    about = {
        "ontology": wanted.ontology,
        "questions": len(queries),
        "documents": len(documents),
        "kg": __version__,
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kind": KINDS[wanted.kind],
        "seed": wanted.seed,
        "notes": notes,
    }
    write_set(folder, documents, queries, about)
    return about


def _select_quotes(
    client: KgClient, documents: Sequence[SetDocument], wanted: MakeSettings
) -> tuple[list[SetQuery], list[str]]:
    found = generate_instance_queries(client, wanted.ontology, documents, wanted.count, wanted.seed)
    with console.progress("questions") as bar:
        limited = islice(found, wanted.count)
        queries = [*bar.track(limited, total=wanted.count, description="finding questions")]
    if not queries:
        raise InvalidInput(
            f"no two concepts of {wanted.ontology!r} are quoted in the same few passages. Extract concepts "
            "first (kg admin concepts), or judge hits and use --kind judgements"
        )
    return number_queries(queries), []


def _select_judged(
    client: KgClient, documents: Sequence[SetDocument], wanted: MakeSettings
) -> tuple[list[SetQuery], list[str]]:
    judged, notes = build_judged_queries(
        _read_pages(partial(client.judgements, wanted.ontology), lambda page: page.judgements)
    )
    names = {each.document for each in documents}  # documents may have been deleted meanwhile
    there = [each for each in judged if each.relevant.keys() <= names]
    queries = sorted(there, key=lambda each: each.query_id)[: wanted.count]
    if not queries:
        raise InvalidInput(
            f"no passage of {wanted.ontology!r} is judged to answer a question: judge hits on the search page"
        )
    if left := len(judged) - len(queries):
        notes.append(f"{pluralize(left, 'question')} skipped: more than --count, or changed at this moment")
    return queries, notes


def _read_documents(client: KgClient, ontology: str) -> list[SetDocument]:
    with console.progress("documents") as bar:
        listed = list(_list_documents(client, ontology))
        if not listed:
            raise NotFound(f"no ontology {ontology!r} has documents. `kg ontologies` lists the ontologies")
        fetching = bar.track(listed, description="fetching")
        found = (retry_while_unavailable(partial(client.document, each.document_id)) for each in fetching)
        return [SetDocument(one.document, one.text, one.title, _get_text_format(one)) for one in found]


def _get_text_format(document: DocumentContent) -> TextFormat:
    """Return the format of the stored text, which is Markdown for a converted file."""
    return "markdown" if document.format in CONVERTED else cast("TextFormat", document.format)
