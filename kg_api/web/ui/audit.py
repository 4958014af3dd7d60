"""What somebody has done, in words, by the request that did it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kg_api.schemas.operations import AuditEntry

DEEDS: Final[Mapping[str, str]] = {
    "POST /documents": "Added a document",
    "POST /ui/documents": "Added a document",
    "POST /documents/batch": "Added documents",
    "POST /documents/conversation": "Added a conversation",
    "PATCH /documents/{document_id}": "Changed what is said of the document",
    "POST /documents/delete": "Deleted the documents that fit a filter",
    "DELETE /documents/{document_id}": "Deleted the document",
    "POST /ui/documents/{document_id}/delete": "Deleted the document",
    "POST /waiting/approve": "Approved documents that waited",
    "POST /ui/review/approve": "Approved documents that waited",
    "POST /waiting/reject": "Rejected documents that waited",
    "POST /ui/review/reject": "Rejected documents that waited",
    "DELETE /ontologies/{ontology}": "Deleted the ontology",
    "POST /ui/ontologies/{ontology}/delete": "Deleted the ontology",
    "PUT /ontologies/{ontology}/embedding-config": "Changed how texts are embedded",
    "POST /ui/ontologies/{ontology}/embedding": "Changed how texts are embedded",
    "PUT /ontologies/{ontology}/extraction-config": "Changed how concepts are found",
    "POST /ui/ontologies/{ontology}/extraction": "Changed how concepts are found",
    "PUT /ontologies/{ontology}/proposals-config": "Changed how links are proposed",
    "PUT /ontologies/{ontology}/language": "Set the language",
    "POST /ui/ontologies/{ontology}/language": "Set the language",
    "PUT /ontologies/{ontology}/synonyms": "Set the synonyms",
    "POST /ui/ontologies/{ontology}/synonyms": "Set the synonyms",
    "POST /ontologies/{ontology}/embeddings": "Had what is due embedded",
    "POST /embeddings/regenerate": "Had vectors made anew",
    "POST /ontologies/{ontology}/extraction": "Had concepts looked for",
    "POST /ontologies/{ontology}/communities": "Had communities detected",
    "POST /ui/communities/{ontology}/detect": "Had communities detected",
    "POST /ontologies/{ontology}/concepts": "Imported concepts",
    "POST /ontologies/{ontology}/concept-merges/{merge_id}/undo": "Parted concepts that had been merged",
    "PUT /ontologies/{ontology}/relationship-types/stance": "Set what a relationship type speaks for",
    "POST /ontologies/{ontology}/relationship-types/merges": "Merged relationship types",
    "POST /ontologies/{ontology}/relationship-types/merges/{merge_id}/undo": "Parted relationship types",
    "POST /ontologies/{ontology}/proposals": "Had links looked for",
    "POST /proposals/{proposal_id}/accept": "Accepted the link",
    "POST /proposals/{proposal_id}/reject": "Rejected the link",
    "POST /proposals/{proposal_id}/undo": "Opened the link again",
    "POST /ui/proposals/{proposal_id}/accept": "Accepted the link",
    "POST /ui/proposals/{proposal_id}/reject": "Rejected the link",
    "POST /ui/proposals/{proposal_id}/undo": "Opened the link again",
    "PUT /ontologies/{ontology}/judgements": "Judged a passage as an answer",
    "POST /ui/judgements": "Judged a passage as an answer",
    "DELETE /ontologies/{ontology}/judgements": "Took judgements back",
    "POST /ui/judgements/delete": "Took judgements back",
    "DELETE /evaluations/{name}": "Deleted the run",
    "POST /ui/evaluations/one/{name}/delete": "Deleted the run",
    "POST /folders": "Had a folder followed",
    "POST /ui/folders": "Had a folder followed",
    "POST /folders/{folder_id}/scan": "Had the folder scanned",
    "POST /ui/folders/{folder_id}/scan": "Had the folder scanned",
    "DELETE /folders/{folder_id}": "Had the folder followed no more",
    "POST /ui/folders/{folder_id}/remove": "Had the folder followed no more",
    "POST /embedding/health": "Had the models checked",
    "POST /embedding/spaces": "Made the space",
    "POST /ui/spaces": "Made the space",
    "POST /embedding/spaces/{slug}/build": "Had vectors built in the space",
    "POST /ui/spaces/{slug}/build": "Had vectors built in the space",
    "POST /embedding/spaces/{slug}/activate": "Let the space answer",
    "POST /ui/spaces/{slug}/activate": "Let the space answer",
    "POST /embedding/spaces/{slug}/rollback": "Rolled back from the space",
    "POST /ui/spaces/{slug}/rollback": "Rolled back from the space",
    "DELETE /embedding/spaces/{slug}": "Dropped the space",
    "POST /ui/spaces/{slug}/drop": "Dropped the space",
    "POST /import/ontologies": "Began to import an ontology",
    "POST /import/ontologies/{ontology}/lines": "Imported documents",
    "PUT /import/blobs/{key}": "Imported the file",
    "POST /jobs/{job_id}/cancel": "Cancelled the job",
    "POST /ui/jobs/{job_id}/cancel": "Cancelled the job",
    "POST /jobs/{job_id}/retry": "Had the job tried again",
    "POST /ui/jobs/{job_id}/retry": "Had the job tried again",
    "POST /keys": "Made the key",
    "POST /ui/keys": "Made the key",
    "POST /keys/{key_id}/rotate": "Replaced the key",
    "POST /ui/keys/{key_id}/rotate": "Replaced the key",
    "POST /keys/{key_id}/revoke": "Revoked the key",
    "POST /ui/keys/{key_id}/revoke": "Revoked the key",
    "POST /ui/login": "Signed in",
    "POST /ui/logout": "Signed out",
}
"""By route, pages and REST alike; what a route deals with follows."""
WITH_SLASHES: Final = "document_id"
"""The name of a document, which may have some."""
SUBJECTS: Final = ("document", "name", "slug")
"""Fields of an outcome that say what was dealt with better than the address."""
ID_DIGITS: Final = 12
"""Of a long id so many are shown; the address beside has them all."""
FAILED: Final = 500
TAKEN_BACK: Final = "POST /ui/judgements/delete"


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done."""

    words: str
    """`Deleted the document`; empty for a request of another kg, which nothing is known of."""
    subject: str
    """Name or id of what it was done to; may be empty."""
    ontology: str
    """May be empty."""


def deed_of(entry: AuditEntry) -> Deed:
    """What an entry of the audit log says that somebody has done."""
    for pattern, words in _PATTERNS:
        if found := pattern.fullmatch(f"{entry.method} {entry.path}"):
            named = found.groupdict()
            ontology = str(entry.outcome.get("ontology") or named.pop("ontology", ""))
            named.pop("ontology", None)
            said = [str(entry.outcome[each]) for each in SUBJECTS if entry.outcome.get(each)]
            subject = next(iter(said), "") or _shortened(next(iter(named.values()), ""))
            return Deed(
                _as_it_ended(entry, DEEDS[TAKEN_BACK] if _is_taken_back(entry) else words), subject, ontology
            )
    return Deed("", "", str(entry.outcome.get("ontology", "")))


def _is_taken_back(entry: AuditEntry) -> bool:
    """Whether one form for both was sent to take a judgement back."""
    return entry.path == "/ui/judgements" and "judgements" in entry.outcome


def _as_it_ended(entry: AuditEntry, words: str) -> str:
    if entry.status >= FAILED:
        return f"Failed: {words[0].lower()}{words[1:]}"
    tried = entry.outcome.get("dry_run") is True or entry.outcome.get("applied") is False
    return f"Only tried: {words[0].lower()}{words[1:]}" if tried else words


def _shortened(text: str) -> str:
    is_id = len(text) > ID_DIGITS and re.fullmatch("[0-9a-f-]+", text)
    return f"{text[:ID_DIGITS]}…" if is_id else text


def _pattern(route: str) -> re.Pattern[str]:
    def part(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{'.+' if found[1] == WITH_SLASHES else '[^/]+'})"

    return re.compile(re.sub(r"\{(\w+)\}", part, route), re.DOTALL)


_PATTERNS: Final = [(_pattern(route), words) for route, words in DEEDS.items()]
