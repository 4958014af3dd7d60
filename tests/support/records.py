import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kg_api.schemas.base import build_document_id, build_source_ids, compute_digest, hash_content
from kg_api.schemas.documents import DocumentRecord, SourceBlock, SourceRecord

BLOCKS = (SourceBlock("paragraph", 0),)


def record(
    document: str,
    paragraphs: Sequence[str],
    ontology: str = "notes",
    uri: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> DocumentRecord:
    made = text_record(document, [f"{paragraph}\n\n" for paragraph in paragraphs], ontology, uri)
    if metadata is None:
        return made
    told = json.dumps(metadata, sort_keys=True)
    return replace(made, metadata=told, content_hash=compute_digest(made.content_hash, told))


def text_record(
    document: str, texts: Sequence[str], ontology: str = "notes", uri: str | None = None
) -> DocumentRecord:
    identity = build_document_id(ontology, document)
    hashes = [hash_content(text) for text in texts]
    sources, start = [], 0
    for number, (source_id, text, content) in enumerate(
        zip(build_source_ids(identity, hashes), texts, hashes, strict=True)
    ):
        span = (start, start + len(text))
        sources.append(SourceRecord(source_id, number, ("Top",), text, content, *span, BLOCKS))
        start += len(text)
    whole = "".join(texts)
    return DocumentRecord(
        document_id=identity,
        ontology=ontology,
        document=document,
        title=document,
        uri=uri,
        format="text",
        content_hash=compute_digest(whole),
        characters=len(whole),
        metadata="{}",
        sources=tuple(sources),
    )
