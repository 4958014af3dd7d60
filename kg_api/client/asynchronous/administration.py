"""What administrators do: embedding spaces, changed while people search, and keys of those who search."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.transport.call import Call, body_of, delete, get, params_of, path_of, post
from kg_api.schemas.base import Answer
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
from kg_api.schemas.operations import ApiKey, ApiKeys, AuditPage, CreatedKey, KeyRotation, NewKey, key_id_in
from kg_api.schemas.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList
from kg_api.schemas.vocabulary import USUAL_OVERLAP_HOURS, ImageProvider, KeyScope, Modality, Provider

_LINES = {"Content-Type": "application/x-ndjson"}
_FILE = {"Content-Type": "application/octet-stream"}


class AsyncSpaceMethods(AsyncSending):
    """Embedding spaces."""

    async def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return await self._send(get(SpaceList, "embedding", "spaces"))

    async def add_embedding_space(
        self,
        slug: str,
        *,
        provider: Provider | ImageProvider,
        model: str | None = None,
        dimensions: int | None = None,
        modality: Modality = "text",
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are, of texts or of pictures."""
        return await self._send(post(SpaceInfo, "embedding", "spaces", json=body_of(NewSpace, locals())))

    async def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return await self._send(post(EmbeddingHealth, "embedding", "health"))

    async def build_space(
        self,
        slug: str,
        *,
        ontologies: Sequence[str] | None = None,
        activate: bool = False,
        dry_run: bool = False,
    ) -> SpaceBuilding:
        """Build a space for ontologies, beside the one that answers; all of them when none is named."""
        body = body_of(SpaceBuild, locals())
        return await self._send(post(SpaceBuilding, "embedding", "spaces", slug, "build", json=body))

    async def check_space(self, slug: str, ontology: str | None = None) -> SpaceCheck:
        """Check whether what was built in a space can answer."""
        return await self._send(get(SpaceCheck, "embedding", "spaces", slug, "check", ontology=ontology))

    async def activate_space(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_refused: bool = False
    ) -> SpaceSwitched:
        """Let what was built in a space answer, all in one transaction."""
        body = body_of(SpaceActivation, locals())
        return await self._send(post(SpaceSwitched, "embedding", "spaces", slug, "activate", json=body))

    async def rollback_space(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Go back from a space to what answered before, in one transaction."""
        body = body_of(ChosenOntologies, locals())
        return await self._send(post(SpaceSwitched, "embedding", "spaces", slug, "rollback", json=body))

    async def drop_space(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space, or one ontology's vectors in it."""
        return await self._send(delete(SpaceDropped, "embedding", "spaces", slug, ontology=ontology))


class AsyncKeyMethods(AsyncSending):
    """Keys."""

    async def keys(self) -> ApiKeys:
        """List all keys, also those that are worth nothing any more; never their secrets."""
        return await self._send(get(ApiKeys, "keys"))

    async def create_key(
        self,
        name: str,
        *,
        scope: KeyScope = "read",
        ontologies: Sequence[str] | None = None,
        valid_days: int | None = None,
    ) -> CreatedKey:
        """Make a key, of some ontologies or of all; `key` of the answer is shown here and never again."""
        return await self._send(post(CreatedKey, "keys", json=body_of(NewKey, locals())))

    async def rotate_key(
        self, key: str, *, overlap_hours: float = USUAL_OVERLAP_HOURS, valid_days: int | None = None
    ) -> CreatedKey:
        """Make a key that replaces one, named by its id or name, which is good for a while beside it."""
        body = body_of(KeyRotation, locals())
        return await self._send(post(CreatedKey, "keys", key_id_in(key), "rotate", json=body))

    async def audit(
        self, key: str | None = None, *, since: datetime | None = None, offset: int = 0, limit: int = 100
    ) -> AuditPage:
        """List what was changed and by whom, the newest first; of a key, of all keys of a name, or of all."""
        of = {"key": None if key is None else key_id_in(key), "since": since and since.isoformat()}
        return await self._send(get(AuditPage, "audit", **of, offset=offset, limit=limit))

    async def revoke_key(self, key: str, *, force: bool = False) -> ApiKey:
        """Make a key worth nothing, within five seconds; named by its id or name.

        The last one that is good for everything is left where it revokes itself, unless by `force`.
        """
        asked = params_of(force=force or None)
        return await self._send(post(ApiKey, "keys", key_id_in(key), "revoke", params=asked))


class AsyncMovingMethods(AsyncSending):
    """The parts of bundles."""

    async def export_offer(self, ontologies: Sequence[str] | None = None) -> BundleOffer:
        """Ask what there is to export of some ontologies, or of all, and what a bundle does not hold."""
        named = None if ontologies is None else list(ontologies)
        return await self._send(get(BundleOffer, "export", ontology=named))

    async def export_documents(
        self, ontology: str, *, after: str = "", content_hash: str | None = None, first: int | None = None
    ) -> bytes:
        """Get the lines of the next documents behind a name; b"" behind the last.

        One of more than 100 sources comes alone: by its hash what is made of 100 of them is given, from
        `first` on.
        """
        asked = {"after": after, "content_hash": content_hash, "first": first}
        return await self._read_file(get(Answer, "export", "ontologies", ontology, **asked))

    async def export_blob(self, key: str) -> bytes:
        """Get a file that a line names by its SHA-256."""
        return await self._read_file(get(Answer, "export", "blobs", key))

    async def open_import(
        self,
        configuration: BundledOntology,
        *,
        format: int,  # noqa: A002 - the field's name
        schema_version: int,
    ) -> ImportOpened:
        """Make an ontology as a bundle has it configured, unless it is there."""
        given = OntologyToImport(format=format, schema_version=schema_version, configuration=configuration)
        return await self._send(
            post(ImportOpened, "import", "ontologies", json=given.model_dump(mode="json"))
        )

    async def import_lines(self, ontology: str, lines: bytes, *, replace: bool = False) -> ImportedLines:
        """Store whole documents with their vectors and concepts, as `export_documents` gave them."""
        asked = params_of(replace=replace or None)
        path = ("import", "ontologies", ontology, "lines")
        return await self._send(post(ImportedLines, *path, content=lines, headers=_LINES, params=asked))

    async def import_blob(self, key: str, content: bytes) -> KeptBlob:
        """Keep a file for an hour, or as long as a document uses it."""
        path = path_of("import", "blobs", key)
        return await self._send(Call("PUT", path, KeptBlob, content=content, headers=_FILE))
