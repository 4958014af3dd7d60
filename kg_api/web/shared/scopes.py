"""What a key must be good for, route by route. Where nothing is said: reading for GET, else writing."""

from __future__ import annotations

from typing import Final

from kg_api.schemas.vocabulary import KeyScope

SEARCHES: Final = frozenset(
    {
        "POST /documents/preview",
        "POST /queries/answer",
        "POST /queries/augment",
        "POST /queries/constructive",
        "POST /queries/documents/{document_id}/similar",
        "POST /queries/facets",
        "POST /queries/hybrid",
        "POST /queries/images/search",
        "POST /queries/sources/graph",
        "POST /queries/sources/search",
        "POST /queries/sources/{source_id}/related",
        "POST /queries/sources/{source_id}/similar",
        "POST /relationships/search",
        "POST /ui/ask",
    }
)
"""They change nothing, though what they ask for is too large for an address."""
ADMINISTRATION: Final = frozenset(
    {
        "DELETE /ontologies/{ontology}",
        "PUT /ontologies/{ontology}/embedding-config",
        "PUT /ontologies/{ontology}/extraction-config",
        "PUT /ontologies/{ontology}/language",
        "PUT /ontologies/{ontology}/proposals-config",
        "POST /embedding/health",
        "POST /embedding/spaces",
        "DELETE /embedding/spaces/{slug}",
        "POST /embedding/spaces/{slug}/activate",
        "POST /embedding/spaces/{slug}/build",
        "GET /embedding/spaces/{slug}/check",
        "POST /embedding/spaces/{slug}/rollback",
        "POST /embeddings/regenerate",
        "GET /audit",
        "GET /export",
        "GET /export/blobs/{key}",
        "GET /export/ontologies/{ontology}",
        "POST /import/ontologies",
        "POST /import/ontologies/{ontology}/lines",
        "PUT /import/blobs/{key}",
        "GET /folders",
        "POST /folders",
        "GET /folders/{folder_id}",
        "DELETE /folders/{folder_id}",
        "POST /folders/{folder_id}/scan",
        "GET /keys",
        "POST /keys",
        "POST /keys/{key_id}/rotate",
        "POST /keys/{key_id}/revoke",
        "GET /ui/audit",
        "GET /ui/folders",
        "POST /ui/folders",
        "GET /ui/folders/{folder_id}",
        "GET /ui/folders/{folder_id}/remove",
        "POST /ui/folders/{folder_id}/remove",
        "GET /ui/folders/{folder_id}/scan",
        "POST /ui/folders/{folder_id}/scan",
        "GET /ui/keys",
        "POST /ui/keys",
        "POST /ui/keys/{key_id}/rotate",
        "GET /ui/keys/{key_id}/revoke",
        "POST /ui/keys/{key_id}/revoke",
        "GET /ui/ontologies/{ontology}/delete",
        "POST /ui/ontologies/{ontology}/delete",
        "POST /ui/ontologies/{ontology}/embedding",
        "POST /ui/ontologies/{ontology}/extraction",
        "POST /ui/ontologies/{ontology}/language",
        "GET /ui/spaces",
        "POST /ui/spaces",
        "GET /ui/spaces/{slug}",
        "POST /ui/spaces/{slug}/activate",
        "POST /ui/spaces/{slug}/build",
        "GET /ui/spaces/{slug}/check",
        "GET /ui/spaces/{slug}/drop",
        "POST /ui/spaces/{slug}/drop",
        "GET /ui/spaces/{slug}/rollback",
        "POST /ui/spaces/{slug}/rollback",
    }
)
"""What decides for all, costs much, or tells of the machine."""
PAGES_OF_SOME: Final = frozenset(
    {
        "GET /ui",
        "GET /ui/",
        "GET /ui/ask",
        "POST /ui/ask",
        "GET /ui/communities",
        "GET /ui/concepts",
        "GET /ui/concepts/{concept_id}",
        "GET /ui/documents",
        "POST /ui/documents",
        "GET /ui/documents/{document_id}/delete",
        "POST /ui/documents/{document_id}/delete",
        "GET /ui/evaluations",
        "GET /ui/evaluations/compare",
        "POST /ui/evaluations/measure",
        "GET /ui/evaluations/one/{name}",
        "GET /ui/evaluations/one/{name}/delete",
        "POST /ui/evaluations/one/{name}/delete",
        "GET /ui/graph/{source_id}",
        "GET /ui/help",
        "GET /ui/jobs",
        "POST /ui/jobs/{job_id}/cancel",
        "POST /ui/jobs/{job_id}/retry",
        "GET /ui/judgements",
        "POST /ui/judgements",
        "GET /ui/judgements/question",
        "GET /ui/judgements/delete",
        "POST /ui/judgements/delete",
        "GET /ui/ontologies",
        "GET /ui/map",
        "GET /ui/map/passages",
        "GET /ui/proposals",
        "POST /ui/proposals/{proposal_id}/{decision}",
        "GET /ui/read/{document_id}",
        "GET /ui/review",
        "GET /ui/review/approve",
        "POST /ui/review/approve",
        "GET /ui/review/reject",
        "POST /ui/review/reject",
        "GET /ui/search",
        "GET /ui/search/facets",
        "GET /ui/search/overview",
    }
)
"""Pages that show of some ontologies what they show of all."""
OF_SOME: Final = (
    SEARCHES
    | PAGES_OF_SOME
    | frozenset(
        {
            "GET /concepts/paths",
            "GET /concepts/search",
            "GET /concepts/{concept_id}",
            "GET /concepts/{concept_id}/context",
            "GET /concepts/{concept_id}/neighbourhood",
            "GET /concepts/{concept_id}/related",
            "POST /documents",
            "GET /documents",
            "POST /documents/batch",
            "POST /documents/conversation",
            "POST /documents/delete",
            "GET /documents/{document_id}",
            "PATCH /documents/{document_id}",
            "DELETE /documents/{document_id}",
            "GET /documents/{document_id}/pages/{page}.png",
            "GET /embedding-status",
            "GET /evaluations",
            "GET /evaluations/compare",
            "GET /evaluations/{name}",
            "DELETE /evaluations/{name}",
            "GET /images",
            "GET /images/{source_id}",
            "GET /images/{source_id}/thumbnail",
            "GET /jobs",
            "GET /jobs/events",
            "GET /jobs/{job_id}",
            "POST /jobs/{job_id}/cancel",
            "GET /jobs/{job_id}/events",
            "POST /jobs/{job_id}/retry",
            "GET /ontologies",
            "GET /proposals",
            "GET /proposals/{proposal_id}",
            "POST /proposals/{proposal_id}/accept",
            "POST /proposals/{proposal_id}/reject",
            "POST /proposals/{proposal_id}/undo",
            "GET /reading/{document_id}",
            "GET /sources/{source_id}",
            "GET /sources/{source_id}/context",
            "GET /waiting",
            "POST /waiting/approve",
            "POST /waiting/reject",
        }
    )
)
"""What a key of some ontologies is good for, besides what has one in its path. That it sees no others is held
below these routes, where names and ids are looked up; whatever is not named here concerns all of kg."""
PUBLIC: Final = frozenset(
    {
        "/",
        "/docs",
        "/docs/start.js",
        "/docs/swagger-ui-bundle.js",
        "/docs/swagger-ui.css",
        "/health",
        "/openapi.json",
        "/ready",
        "/ui/login",
    }
)
"""Paths that tell no text, name or count of what is stored: they are answered without a key, too."""
DESCRIBING_KG: Final = frozenset({"/", "/ready"})
"""Public paths that name parts of kg, such as spaces, only to a sender who may see all ontologies."""
PUBLIC_BELOW: Final = ("/.well-known/", "/ui/assets/")
"""Below the first there is nothing, and a client of MCP that looks for more than a key is to be told that by
404; below the other are scripts and styles of the pages."""
PAGES: Final = "/ui"


def is_public(path: str) -> bool:
    """Whether whoever asks for a path is answered."""
    return path in PUBLIC or path.startswith(PUBLIC_BELOW)


def is_page(path: str) -> bool:
    """Whether a path is one of the pages that people see in a browser."""
    return path == PAGES or path.startswith(f"{PAGES}/")


def can_be_held(method: str, path_format: str) -> bool:
    """Return whether a key of some ontologies may call a route; see `scope_of`.

    Lines of an import name stored files by their hash, and a file may belong to any ontology.
    """
    named = "{ontology}" in path_format and not path_format.startswith("/import/")
    return named or _route(method, path_format) in OF_SOME


def _route(method: str, path_format: str) -> str:
    """The routes of FastAPI say of a parameter that it may have slashes."""
    return f"{'GET' if method == 'HEAD' else method} {path_format}"


def scope_of(method: str, path_format: str) -> KeyScope:
    """What a route needs.

    Args:
        method: as in `GET`.
        path_format: of the route, with its parameters, as in `/jobs/{job_id}`.
    """
    route = _route(method, path_format)
    if route in ADMINISTRATION:
        return "admin"
    return "read" if route.startswith("GET ") or route in SEARCHES else "write"
