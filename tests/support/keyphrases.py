from collections.abc import Sequence
from dataclasses import replace

from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.schemas.base import content_hash
from kg_api.schemas.concepts import Extraction
from kg_api.schemas.documents import Format, SourceSpan
from kg_api.text.documents import parse
from kg_api.text.sources import assign_blocks

ABOUT = DocumentAbout("", {})


def sources(*texts: str, form: Format = "markdown") -> Sequence[SourceText]:
    found: list[SourceText] = []
    start = 0
    for at, text in enumerate(texts):
        found.append(SourceText(f"s{at}", "d", at, (), start, text, content_hash(text)))
        start += len(text)
    parsed = parse("".join(texts), "", form)
    spans = [SourceSpan(each.start, each.start + len(each.full_text), each.heading) for each in found]
    blocks = zip(found, assign_blocks(parsed, spans), strict=True)
    return [replace(source, blocks=known) for source, known in blocks]


def extract(document: Sequence[SourceText], per_source: int = 6) -> list[Extraction]:
    return KeyphraseExtractor(per_source).extract(document, document, ABOUT)


def labels(*texts: str, per_source: int = 20, form: Format = "markdown") -> list[str]:
    found = extract(sources(*texts, form=form), per_source)
    return [concept.label for each in found for concept in each.concepts]
