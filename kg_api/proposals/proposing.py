"""A link that is proposed, with its score and its reason. Pure."""

from __future__ import annotations

from kg_api.graph.proposals.writes import LinkEnd, NewProposal
from kg_api.graph.spaces.registry import Space
from kg_api.models.proposals.configuration import UsedProposals
from kg_api.models.vocabulary import ProposalKind
from kg_api.proposals.reason import reason_of, shared_words
from kg_api.proposals.used import score_of


def new_proposal(
    kind: ProposalKind,
    ends: tuple[LinkEnd, LinkEnd],
    texts: tuple[str, str],
    *,
    similarity: float,
    contrast: float,
    space: Space,
    used: UsedProposals,
) -> NewProposal:
    """Propose a link.

    Args:
        kind: of what is linked.
        ends: both.
        texts: what both say.
        similarity: cosine of the two.
        contrast: by how much that is over their cosines with what else is near.
        space: whose vectors were compared.
        used: how links are proposed.
    """
    shared = shared_words(*texts)
    within, hops = used.neighbours, used.hops
    reason = reason_of(kind, similarity, within=within, hops=hops, contrast=contrast, shared=shared)
    return NewProposal(kind, *ends, score=score_of(contrast, space), similarity=similarity, reason=reason)
