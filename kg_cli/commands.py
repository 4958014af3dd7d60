"""The whole command line, in the order of its help: the commands, then the groups.

What a command needs is imported in its body: all these modules are loaded for `kg --help`, which is to take
less than 0.3 s.
"""

from __future__ import annotations

from kg_cli.admin import commands as admin
from kg_cli.bundle.commands import export, import_bundle
from kg_cli.communities import commands as communities
from kg_cli.concepts import commands as concepts
from kg_cli.documents import folders, library
from kg_cli.documents.ingest import conversation, ingest
from kg_cli.documents.review import commands as review
from kg_cli.evaluate import commands as evaluate
from kg_cli.images import commands as images
from kg_cli.jobs import commands as jobs
from kg_cli.mcp.commands import mcp
from kg_cli.proposals import commands as proposals
from kg_cli.search.answering import answer, augment
from kg_cli.search.commands import hybrid, read, search, show
from kg_cli.search.similarity import similar, similar_documents, source_graph
from kg_cli.search.subgraph import subgraph
from kg_cli.stack.commands import doctor, down, serve, status, up, worker

COMMANDS = (
    *(up, down, status, doctor),
    *(answer, augment, conversation, export, ingest, library.ontologies, library.facets, mcp),
    *(search, hybrid, show, read, serve, worker, similar, similar_documents, source_graph),
    subgraph,
)
NAMED = {"import": import_bundle}
"""Commands whose names are words of Python."""
GROUPS = {
    "admin": admin.group,
    "communities": communities.group,
    "concept": concepts.group,
    "eval": evaluate.group,
    "folders": folders.group,
    "images": images.group,
    "jobs": jobs.group,
    "proposals": proposals.group,
    "delete": library.delete,
    "documents": review.documents,
}
