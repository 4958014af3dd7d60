"""Embedding spaces, jobs, API keys, export, and import: methods of the client."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kg_api.client.call import Call, Events, build_body, build_params, build_path, delete, get, get_file, post
from kg_api.client.sending import request, stream
from kg_api.schemas.bundles import (
    BundledOntology,
    BundleOffer,
    ImportedLines,
    ImportOpened,
    KeptBlob,
    OntologyToImport,
)
from kg_api.schemas.embedding import (
    ChosenOntologies,
    SpaceActivation,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)
from kg_api.schemas.operations import (
    FINISHED,
    ApiKey,
    ApiKeys,
    AuditPage,
    CreatedKey,
    Job,
    JobPage,
    KeyRotation,
    NewKey,
    QueueStatus,
    extract_key_id,
)
from kg_api.schemas.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList
from kg_api.schemas.vocabulary import USUAL_OVERLAP_HOURS, ImageProvider, KeyScope, Modality, Provider

_LINES = {"Content-Type": "application/x-ndjson"}


_FILE = {"Content-Type": "application/octet-stream"}


class AdministrationMethods:
    @request
    def embedding_spaces(self) -> Call[SpaceList]:
        return get(SpaceList, "embedding", "spaces")

    @request
    def add_embedding_space(
        self,
        slug: str,
        *,
        provider: Provider | ImageProvider,
        model: str | None = None,
        dimensions: int | None = None,
        modality: Modality = "text",
    ) -> Call[SpaceInfo]:
        """Create an embedding space for texts or images. This does not change other spaces."""
        return post(SpaceInfo, "embedding", "spaces", json=build_body(NewSpace, locals()))

    @request
    def embedding_health(self) -> Call[EmbeddingHealth]:
        return post(EmbeddingHealth, "embedding", "health")

    @request
    def build_space(
        self,
        slug: str,
        *,
        ontologies: Sequence[str] | None = None,
        activate: bool = False,
        dry_run: bool = False,
    ) -> Call[SpaceBuilding]:
        """Build a space for some ontologies (default: all). You can still search with the active space."""
        body = build_body(SpaceBuild, locals())
        return post(SpaceBuilding, "embedding", "spaces", slug, "build", json=body)

    @request
    def check_space(self, slug: str, ontology: str | None = None) -> Call[SpaceCheck]:
        """Check if a space can be used for searches."""
        return get(SpaceCheck, "embedding", "spaces", slug, "check", ontology=ontology)

    @request
    def activate_space(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_rejected: bool = False
    ) -> Call[SpaceSwitched]:
        """Use a built space for searches. This is done in one transaction."""
        body = build_body(SpaceActivation, locals())
        return post(SpaceSwitched, "embedding", "spaces", slug, "activate", json=body)

    @request
    def rollback_space(self, slug: str, ontologies: Sequence[str] | None = None) -> Call[SpaceSwitched]:
        """Go back to the previous space. This is done in one transaction."""
        body = build_body(ChosenOntologies, locals())
        return post(SpaceSwitched, "embedding", "spaces", slug, "rollback", json=body)

    @request
    def drop_space(self, slug: str, ontology: str | None = None) -> Call[SpaceDropped]:
        """Delete a space, or only the vectors that it has for one ontology."""
        return delete(SpaceDropped, "embedding", "spaces", slug, ontology=ontology)

    @request
    def keys(self) -> Call[ApiKeys]:
        """List all keys, including revoked and expired keys. You cannot see the secrets."""
        return get(ApiKeys, "keys")

    @request
    def create_key(
        self,
        name: str,
        *,
        scope: KeyScope = "read",
        ontologies: Sequence[str] | None = None,
        valid_days: int | None = None,
    ) -> Call[CreatedKey]:
        """Create a key for some ontologies or for all.

        You can see the secret in this response only, as `key`.
        """
        return post(CreatedKey, "keys", json=build_body(NewKey, locals()))

    @request
    def rotate_key(
        self, key: str, *, overlap_hours: float = USUAL_OVERLAP_HOURS, valid_days: int | None = None
    ) -> Call[CreatedKey]:
        """Replace a key, given by id or name. You can use the old key for `overlap_hours` more."""
        body = build_body(KeyRotation, locals())
        return post(CreatedKey, "keys", extract_key_id(key), "rotate", json=body)

    @request
    def audit(
        self, key: str | None = None, *, since: datetime | None = None, offset: int = 0, limit: int = 100
    ) -> Call[AuditPage]:
        """List changes, the newest first. To see the changes from one key, pass the id or name as `key`."""
        of = {"key": None if key is None else extract_key_id(key), "since": since and since.isoformat()}
        return get(AuditPage, "audit", **of, offset=offset, limit=limit)

    @request
    def revoke_key(self, key: str, *, force: bool = False) -> Call[ApiKey]:
        """Revoke a key, given by id or name. It can be used for up to five seconds more.

        The last key with all permissions cannot revoke itself, unless you pass `force`.
        """
        asked = build_params(force=force or None)
        return post(ApiKey, "keys", extract_key_id(key), "revoke", params=asked)

    @request
    def export_offer(self, ontologies: Sequence[str] | None = None) -> Call[BundleOffer]:
        """Show what you can export from some ontologies or from all."""
        named = None if ontologies is None else list(ontologies)
        return get(BundleOffer, "export", ontology=named)

    @request
    def export_documents(self, ontology: str, *, after: str = "") -> Call[bytes]:
        """Get the lines for the next documents after a name. This is b"" after the last document."""
        return get_file("export", "ontologies", ontology, after=after)

    @request
    def export_blob(self, key: str) -> Call[bytes]:
        """Get an exported file by SHA-256."""
        return get_file("export", "blobs", key)

    @request
    def open_import(
        self,
        configuration: BundledOntology,
        *,
        format: int,  # noqa: A002 - the field's name
        schema_version: int,
        replace: bool = False,
    ) -> Call[ImportOpened]:
        """Create an ontology using the configuration from a bundle.

        To use an existing one, pass `replace`.
        """
        given = OntologyToImport(
            format=format, schema_version=schema_version, configuration=configuration, replace=replace
        )
        return post(ImportOpened, "import", "ontologies", json=given.model_dump(mode="json"))

    @request
    def import_lines(self, ontology: str, lines: bytes) -> Call[ImportedLines]:
        """Store documents with vectors and concepts, using lines from `export_documents`."""
        path = ("import", "ontologies", ontology, "lines")
        return post(ImportedLines, *path, content=lines, headers=_LINES)

    @request
    def import_blob(self, key: str, content: bytes) -> Call[KeptBlob]:
        """Upload a file. If it is not used, it will be deleted after an hour."""
        path = build_path("import", "blobs", key)
        return Call("PUT", path, KeptBlob, content=content, headers=_FILE)

    @request
    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        ontology: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> Call[JobPage]:
        return get(JobPage, "jobs", state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)

    @request
    def job(self, job_id: str) -> Call[Job]:
        return get(Job, "jobs", job_id)

    @request
    def cancel_job(self, job_id: str) -> Call[Job]:
        """Cancel a job. This does not remove data that it has written."""
        return post(Job, "jobs", job_id, "cancel")

    @request
    def retry_job(self, job_id: str) -> Call[Job]:
        """Queue a failed job again. If it waits for the next attempt, it will start now."""
        return post(Job, "jobs", job_id, "retry")

    @stream
    def follow_job(self, job_id: str) -> Events[Job]:
        """Yield a job after each change, until it has ended.

        This can stop earlier, when the service or the database stops. In this case, use `job`.
        """
        return Events(get(Job, "jobs", job_id, "events"), is_last=lambda job: job.state in FINISHED)

    @stream
    def follow_jobs(self, ontology: str | None = None) -> Events[Job]:
        """Yield unfinished and recently ended jobs, and then each job that changes. This does not end."""
        return Events(get(Job, "jobs", "events", ontology=ontology))

    @request
    def queue(self) -> Call[QueueStatus]:
        """Get the state of the queue, to see jobs and workers."""
        return get(QueueStatus, "queue")
