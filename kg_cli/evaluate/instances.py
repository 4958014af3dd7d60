"""Questions from the quotes of an ontology's concepts, and which of them full text answers by itself."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from kg_api.client import KgClient
from kg_api.evaluate.sets.instances import MAX_SOURCES, InstanceQuote, QuotedConcept, pair_query
from kg_api.models.concepts.details import ConceptDetails
from kg_api.models.concepts.queries import Concept
from kg_api.models.evaluation import Reference, SetDocument, SetQuery
from kg_cli.jobs.waiting import patiently

_PAGE = 1000
_QUOTES = 50
"""Of a concept at most; those of few sources have no more."""


def instance_queries(
    client: KgClient, ontology: str, documents: Sequence[SetDocument], count: int, seed: int
) -> Iterator[SetQuery]:
    """Give questions for pairs of concepts, at random, each concept in one of them, spread over documents.

    Args:
        client: of the service.
        ontology: whose concepts.
        documents: those of the set.
        count: how many are wanted: of one document are no more than twice its share of them.
        seed: the same one gives the same.
    """
    most = math.ceil(2 * count / len(documents))
    names, taken, used = {each.document for each in documents}, Counter[str](), set[str]()
    for concept in _chosen(client, ontology, seed):
        if concept.concept_id in used:
            continue
        found = _question(client, concept, used)
        if found is None:
            continue
        query, ids = found
        document = query.references[0].document
        if document in names and taken[document] < most:
            used |= ids
            taken[document] += 1
            yield query


def is_answered_by_text(client: KgClient, ontology: str, query: SetQuery, *, of_many: bool) -> bool:
    """Whether the first passage that full text finds is of the right document, or of one alone the right one.

    Args:
        client: of the service.
        ontology: where to look.
        query: the question.
        of_many: whether there are several documents to find the right one among.
    """
    call = partial(client.search_sources, query.text, ontology=ontology, mode="text", limit=1)
    for hit in patiently(call).sources:
        if of_many:
            return hit.document in query.relevant
        return any(hit.start < each.end and each.start < hit.end for each in query.references)
    return False


def _chosen(client: KgClient, ontology: str, seed: int) -> list[Concept]:
    """The concepts that a quote proves and few sources carry, in a random order."""
    found = list[Concept]()
    offset, total = 0, 1
    while offset < total:
        page = patiently(partial(client.concepts, ontology, offset=offset, limit=_PAGE))
        found += [each for each in page.concepts if each.verified and each.sources <= MAX_SOURCES]
        offset, total = offset + _PAGE, page.total
    dice = random.Random(seed)  # noqa: S311 - a sample, no secret
    return dice.sample(sorted(found, key=lambda each: each.concept_id), len(found))


def _question(client: KgClient, concept: Concept, used: set[str]) -> tuple[SetQuery, set[str]] | None:
    """A question for a concept and one that appears with it, rather a usual one; and the ids of both."""
    details = patiently(partial(client.concept, concept.concept_id, limit=_QUOTES))
    beside = [
        each for each in details.related if each.concept.verified and each.concept.concept_id not in used
    ]
    few = [each for each in beside if each.concept.sources <= MAX_SOURCES]
    for each in sorted(few, key=lambda one: (-one.concept.sources, one.concept.concept_id)):
        other = patiently(partial(client.concept, each.concept.concept_id, limit=_QUOTES))
        if query := pair_query(_quoted(details), _quoted(other), each.sources):
            return query, {concept.concept_id, each.concept.concept_id}
    return None


def _quoted(details: ConceptDetails) -> QuotedConcept:
    quotes = [
        InstanceQuote(
            each.source.source_id,
            Reference(each.source.document, each.start, each.end),
            each.source.full_text,
        )
        for each in details.evidence
    ]
    return QuotedConcept(details.label, tuple(details.search_terms), tuple(quotes))
