"""Documents, review, synced folders, ontologies, and link proposals: methods of the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kg_api.client.call import (
    UNSET,
    Call,
    Unset,
    build_batch_body,
    build_body,
    build_change_body,
    build_params,
    delete,
    fields_of,
    get,
    patch,
    post,
    put,
)
from kg_api.client.sending import request
from kg_api.schemas.communities import Communities, CommunityDetails
from kg_api.schemas.concepts import Decision, ExtractionConfig, ExtractionStatus
from kg_api.schemas.documents import (
    Approval,
    Approved,
    Conversation,
    Deleted,
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    DocumentText,
    DocumentUpload,
    EmbeddingStatus,
    Format,
    Ingested,
    IngestedBatch,
    Message,
    OntologyList,
    Rejected,
    Review,
    WaitingDocuments,
)
from kg_api.schemas.embedding import (
    DocumentPreview,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    RefusedSources,
    Regeneration,
    RegenerationStarted,
)
from kg_api.schemas.evaluation import Judgement, JudgementRequest, Judgements, JudgementsDeleted
from kg_api.schemas.filters import (
    AnyOf,
    Condition,
    DeletedMatching,
    DocumentDeletion,
    Facet,
    FacetRequest,
    Facets,
)
from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, NewFolder, ScanRequest
from kg_api.schemas.formats import OcrMode
from kg_api.schemas.languages import OntologyLanguage, Synonyms
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.operations import JobStarted
from kg_api.schemas.proposals import Proposal, Proposals
from kg_api.schemas.similarity import PassageMap
from kg_api.schemas.vocabulary import (
    USUAL_MAP_POINTS,
    ContextMode,
    EmbeddedKind,
    ExtractorName,
    ProposalKind,
    ProposalState,
    Selection,
    Strategy,
    TextLanguage,
)


def _decide(proposal_id: str, what: str, by: str | None) -> Call[Proposal]:
    return post(Proposal, "proposals", proposal_id, what, json=build_body(Decision, {"by": by}))


class LibraryMethods:
    @request
    def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        review: bool = False,
    ) -> Call[Ingested]:
        """Store a text document. This replaces a document that has the same name."""
        body = build_body(DocumentText, locals())
        return post(Ingested, "documents", json=body)

    @request
    def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        review: bool = False,
        ocr: OcrMode = "auto",
    ) -> Call[Ingested]:
        """Store the content from a file. The service detects the encoding, and the format if you omit it.

        Hits show `modified`, the time of the last change (ISO 8601), if the document states no date. `ocr`
        selects the pages of a PDF to read by OCR.
        """
        return post(
            Ingested, "documents", data=fields_of(DocumentUpload, locals()), files={"file": ("file", content)}
        )

    @request
    def ingest_batch(
        self, documents: Sequence[DocumentText | dict[str, Any]], *, idempotency_key: str | None = None
    ) -> Call[IngestedBatch]:
        """Store up to 1,000 text documents. You get the outcomes in the same order.

        The service validates each document separately and rejects only invalid documents. If two documents
        have the same ontology and name, the service rejects the second.
        """
        parts = build_batch_body(documents)
        if idempotency_key is not None:
            parts["headers"]["Idempotency-Key"] = idempotency_key
        return post(IngestedBatch, "documents", "batch", **parts)

    @request
    def ingest_conversation(
        self,
        messages: Sequence[Message | dict[str, Any]],
        *,
        ontology: str,
        title: str,
        metadata: dict[str, MetadataValue] | None = None,
    ) -> Call[Ingested]:
        """Store messages as a Markdown document. This replaces a conversation that has the same title.

        Only new messages are embedded. A message has author, text and an optional timestamp (ISO 8601 with
        time zone).
        """
        return post(Ingested, "documents", "conversation", json=build_body(Conversation, locals()))

    @request
    def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        review: bool = False,
    ) -> Call[DocumentPreview]:
        """Show chunks and cost for a text. This does not store it, and you do not pay for it."""
        body = build_body(DocumentText, locals())
        return post(DocumentPreview, "documents", "preview", json=body)

    @request
    def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        review: bool = False,
        ocr: OcrMode = "auto",
    ) -> Call[DocumentPreview]:
        """Show chunks and cost for a file. This does not store it, and you do not pay for it."""
        return post(
            DocumentPreview,
            "documents",
            "preview",
            data=fields_of(DocumentUpload, locals()),
            files={"file": ("file", content)},
        )

    @request
    def documents(
        self,
        ontology: str | None = None,
        *,
        where: Sequence[str] | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Call[DocumentPage]:
        """List documents, one page at a time.

        You can filter them by conditions such as `date>=2025-01-01`.
        """
        filtered = {"ontology": ontology, "where": list(where) if where else None}
        return get(DocumentPage, "documents", **filtered, offset=offset, limit=limit)

    @request
    def facets(
        self,
        fields: Sequence[Facet | str | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 20,
    ) -> Call[Facets]:
        """Count the values in fields such as `author` or `date:year`, for the documents that match."""
        return post(Facets, "queries", "facets", json=build_body(FacetRequest, locals()))

    @request
    def document(self, document_id: str, *, ontology: str | None = None) -> Call[DocumentContent]:
        """Get a document with the text. You can use an id, 8 or more digits from an id, or a name."""
        return get(DocumentContent, "documents", document_id, ontology=ontology)

    @request
    def change_document(
        self,
        document_id: str,
        *,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        ontology: str | None = None,
    ) -> Call[DocumentChanged]:
        """Change title, URI, or metadata for a document. To delete a key from the metadata, use None.

        The document is re-embedded only if the contexts of its chunks use a changed value.
        """
        body = build_body(DocumentChange, locals())
        return patch(DocumentChanged, "documents", document_id, json=body, ontology=ontology)

    @request
    def delete_document(self, document_id: str, *, ontology: str | None = None) -> Call[Deleted]:
        """Delete a document. You can use an id, 8 or more digits from an id, or a name.

        A missing full id returns zero counts and a note. A missing name raises NotFound.
        """
        return delete(Deleted, "documents", document_id, ontology=ontology)

    @request
    def delete_documents(
        self,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        dry_run: bool = True,
        expected_digest: str | None = None,
    ) -> Call[DeletedMatching]:
        """Show the documents that match. To delete them, use `dry_run=False`.

        With `expected_digest`, the `digest` of a dry run, deletion requires the same documents.
        """
        body = build_body(DocumentDeletion, locals())
        return post(DeletedMatching, "documents", "delete", json=body)

    @request
    def waiting(
        self, ontology: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> Call[WaitingDocuments]:
        """List documents that wait for approval, one page at a time."""
        return get(WaitingDocuments, "waiting", ontology=ontology, offset=offset, limit=limit)

    @request
    def approve(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
        after: str | None = None,
    ) -> Call[Approved]:
        """Store pending documents by name, or use `all` to store a batch.

        Then pass `next` from the response as `after`.
        """
        return post(Approved, "waiting", "approve", json=build_body(Approval, locals()))

    @request
    def reject(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
    ) -> Call[Rejected]:
        """Reject pending documents by name, or use `all` to reject up to 1,000."""
        return post(Rejected, "waiting", "reject", json=build_body(Review, locals()))

    @request
    def proposals(
        self,
        ontology: str | None = None,
        *,
        kind: ProposalKind | None = None,
        state: ProposalState | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Call[Proposals]:
        """List proposed links, the best first. You can see the reason and both texts."""
        chosen = {"ontology": ontology, "kind": kind, "state": state, "offset": offset, "limit": limit}
        return get(Proposals, "proposals", **chosen)

    @request
    def proposal(self, proposal_id: str) -> Call[Proposal]:
        """Get a proposed link."""
        return get(Proposal, "proposals", proposal_id)

    @request
    def accept_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Accept a link. You can then see it in related concepts, paths, and the source graph."""
        return _decide(proposal_id, "accept", by)

    @request
    def reject_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Reject a link. It will not be proposed again."""
        return _decide(proposal_id, "reject", by)

    @request
    def undo_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Undo a decision on a proposal. This deletes the link, if you accepted it before."""
        return _decide(proposal_id, "undo", by)

    @request
    def search_proposals(self, ontology: str, *, anew: bool = False) -> Call[JobStarted]:
        """Search for links now. To search everything again, use `anew`."""
        return post(JobStarted, "ontologies", ontology, "proposals", params=build_params(anew=anew or None))

    @request
    def judge(
        self, ontology: str, *, question: str, source_id: str, relevance: int, by: str | None = None
    ) -> Call[Judgement]:
        """Judge a passage for a question: 2 if it answers this, 1 if it helps, 0 if it is irrelevant."""
        body = build_body(JudgementRequest, locals())
        return put(Judgement, "ontologies", ontology, "judgements", json=body, dry_run=False)

    @request
    def judgements(
        self, ontology: str, question: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> Call[Judgements]:
        """List judgements by question. You can see the passages as they are now."""
        chosen = {"question": question, "offset": offset, "limit": limit}
        return get(Judgements, "ontologies", ontology, "judgements", **chosen)

    @request
    def delete_judgements(
        self, ontology: str, question: str, source_id: str | None = None
    ) -> Call[JudgementsDeleted]:
        """Delete the judgements for a question.

        To delete the judgement on one passage, use the full `source_id`.
        """
        chosen = {"question": question, "source_id": source_id}
        return delete(JudgementsDeleted, "ontologies", ontology, "judgements", **chosen)

    @request
    def folders(self) -> Call[FolderList]:
        """List the synced folders, to see the results from the last scans."""
        return get(FolderList, "folders")

    @request
    def folder(self, folder_id: str) -> Call[Folder]:
        return get(Folder, "folders", folder_id)

    @request
    def add_folder(
        self,
        path: str,
        *,
        ontology: str,
        every_seconds: int | None = None,
        prefix: str | None = None,
        review: bool = False,
        grant: str | None = None,
    ) -> Call[Folder]:
        """Sync a folder on the worker's machine, and request the first scan.

        The folder must be below KG_SYNC__ROOTS. `kg folders add` sends a `grant` for other folders.
        """
        body = build_body(NewFolder, locals())
        headers = {"KG-Folder-Grant": grant} if grant else {}
        return post(Folder, "folders", json=body, headers=headers)

    @request
    def scan_folder(self, folder_id: str, *, allow_empty: bool = False) -> Call[Folder]:
        return post(Folder, "folders", folder_id, "scan", json=build_body(ScanRequest, locals()))

    @request
    def remove_folder(self, folder_id: str, *, delete_documents: bool = False) -> Call[FolderRemoved]:
        """Stop syncing a folder. To delete the documents, use `delete_documents`."""
        return delete(FolderRemoved, "folders", folder_id, delete_documents=delete_documents)

    @request
    def ontologies(self) -> Call[OntologyList]:
        return get(OntologyList, "ontologies")

    @request
    def delete_ontology(self, ontology: str) -> Call[Deleted]:
        return delete(Deleted, "ontologies", ontology)

    @request
    def communities(self, ontology: str, *, offset: int = 0, limit: int = 100) -> Call[Communities]:
        """List the communities of an ontology's concepts, the largest first."""
        return get(Communities, "ontologies", ontology, "communities", offset=offset, limit=limit)

    @request
    def community(
        self, ontology: str, community_id: str, *, concepts: int = 20, passages: int = 5
    ) -> Call[CommunityDetails]:
        """Get a community, to see the main concepts and passages."""
        path = ("ontologies", ontology, "communities", community_id)
        return get(CommunityDetails, *path, concepts=concepts, passages=passages)

    @request
    def detect_communities(self, ontology: str) -> Call[JobStarted]:
        """Detect communities now. A worker will do this when enough has changed."""
        return post(JobStarted, "ontologies", ontology, "communities")

    @request
    def passage_map(self, ontology: str, *, limit: int = USUAL_MAP_POINTS) -> Call[PassageMap]:
        """Get the passages in an ontology as points on a map."""
        return get(PassageMap, "ontologies", ontology, "map", limit=limit)

    @request
    def synonyms(self, ontology: str) -> Call[Synonyms]:
        return get(Synonyms, "ontologies", ontology, "synonyms")

    @request
    def set_synonyms(self, ontology: str, groups: Sequence[Sequence[str]]) -> Call[Synonyms]:
        """Replace the synonyms, using groups such as `["k8s", "kubernetes"]`.

        To delete all, use an empty list.
        """
        body = {"groups": [[*group] for group in groups]}
        return put(Synonyms, "ontologies", ontology, "synonyms", json=body, dry_run=False)

    @request
    def language(self, ontology: str) -> Call[OntologyLanguage]:
        """Get the language that is used to index the sources in an ontology."""
        return get(OntologyLanguage, "ontologies", ontology, "language")

    @request
    def set_language(self, ontology: str, language: TextLanguage) -> Call[OntologyLanguage]:
        """Use another language to index the sources.

        You have to repeat this until the result is `complete`.
        """
        body = {"language": language}
        return put(OntologyLanguage, "ontologies", ontology, "language", json=body, dry_run=False)

    @request
    def embedding_status(self, ontology: str | None = None) -> Call[EmbeddingStatus]:
        """Count embedded and pending items."""
        of = () if ontology is None else ("ontologies", ontology)
        return get(EmbeddingStatus, *of, "embedding-status")

    @request
    def embedding_config(self, ontology: str) -> Call[EmbeddingConfiguration]:
        """Get the embedding configuration, to see stale items and the cost to re-embed them."""
        return get(EmbeddingConfiguration, "ontologies", ontology, "embedding-config")

    @request
    def set_embedding_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        strategy: Strategy | Unset | None = UNSET,
        chunk_size: int | Unset | None = UNSET,
        overlap: int | Unset | None = UNSET,
        parent_size: int | Unset | None = UNSET,
        context: ContextMode | Unset | None = UNSET,
        context_template: str | Unset | None = UNSET,
        space: str | Unset | None = UNSET,
        embed_on_ingest: bool | Unset | None = UNSET,
    ) -> Call[EmbeddingConfiguration]:
        """Change how kg embeds an ontology. You can use the fields in EmbeddingConfigChange as options.

        To keep a value, omit the option. To use the default, set it to None.
        """
        body, path = (
            build_change_body(EmbeddingConfigChange, locals()),
            ("ontologies", ontology, "embedding-config"),
        )
        return put(EmbeddingConfiguration, *path, json=body, dry_run=dry_run)

    @request
    def embed_ontology(self, ontology: str) -> Call[JobStarted]:
        """Embed missing and stale items now."""
        return post(JobStarted, "ontologies", ontology, "embeddings")

    @request
    def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: EmbeddedKind | Literal["all"] = "source",
        selection: Selection = "due",
        force: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[RegenerationStarted]:
        """Embed missing and stale items. To embed all items again, use `force`."""
        body = build_body(Regeneration, locals(), type=kind)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return post(RegenerationStarted, "embeddings", "regenerate", json=body, headers=headers)

    @request
    def rejected(self, ontology: str) -> Call[RefusedSources]:
        """List the sources that the embedding model rejects, with the reasons."""
        return get(RefusedSources, "ontologies", ontology, "rejected")

    @request
    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> Call[ExtractionStatus]:
        """Get the configuration and the progress for extraction.

        You can also get the cost to extract pending sources.
        """
        return get(ExtractionStatus, "ontologies", ontology, "extraction-config", with_cost=with_cost or None)

    @request
    def set_extraction_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        extractor: ExtractorName | Unset | None = UNSET,
        per_source: int | Unset | None = UNSET,
        budget: float | Unset | None = UNSET,
    ) -> Call[ExtractionStatus]:
        """Change how kg extracts concepts. You can use the fields in ExtractionConfig as options.

        To keep a value, omit the option. To use the setting from the service, set it to None.
        """
        body = build_change_body(ExtractionConfig, locals())
        return put(ExtractionStatus, "ontologies", ontology, "extraction-config", json=body, dry_run=dry_run)

    @request
    def extract_concepts(self, ontology: str, *, stale: bool = False) -> Call[JobStarted]:
        """Extract concepts from pending and rejected sources now.

        Use `stale` to include sources that another model or prompt has read. This may cost money.
        """
        params = {"stale": True} if stale else {}
        return post(JobStarted, "ontologies", ontology, "extraction", params=params)

    @request
    def extraction_rejected(self, ontology: str) -> Call[RefusedSources]:
        """List the sources from which concepts could not be extracted, with the reasons."""
        return get(RefusedSources, "ontologies", ontology, "extraction-rejected")
