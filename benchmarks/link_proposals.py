"""How many of the links that a running kg proposes are good, as judged by reading both quotes.

    python -m benchmarks.link_proposals python_peps claude_pages
    python -m benchmarks.link_proposals python_peps --unread 60    # those without a verdict

A link is good if whoever reads one text is served by being led to the other: both speak of the same thing,
or of a kind or a part of it. The same form of two texts, or a word that both have, is no reason. Verdicts
name the ends by document and paragraph, of concepts by label.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from kg_api.client import KgClient
from kg_api.schemas.proposals import Proposal, ProposalEnd
from kg_cli.terminal.connect import open_client

PAGE = 1000
Key = tuple[str, ...]


def main() -> None:
    """Count, or print what is still to be read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ontologies", nargs="+")
    parser.add_argument("--verdicts", type=Path, default=Path("benchmarks/link_verdicts.tsv"))
    parser.add_argument("--unread", type=int, default=0)
    chosen = parser.parse_args()
    verdicts = read_verdicts(chosen.verdicts)
    print("| ontology | links of | open | read | good | share |\n| --- | --- | --- | --- | --- | --- |")
    with open_client() as kg:
        for ontology in chosen.ontologies:
            found = every(kg, ontology)
            report(ontology, found, verdicts)
            for each in [each for each in found if key_of(each) not in verdicts][: chosen.unread]:
                show(each)


def read_verdicts(path: Path) -> dict[Key, bool]:
    """By kind and ends, whether a link is good."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {tuple(row[1:]): row[0] == "good" for row in rows}


def every(kg: KgClient, ontology: str) -> list[Proposal]:
    """All that is open, the best first."""
    return kg.proposals(ontology, state="open", limit=PAGE).proposals


def report(ontology: str, found: list[Proposal], verdicts: dict[Key, bool]) -> None:
    """Print how many of each kind are good."""
    for kind in ("source", "concept"):
        of_kind = [each for each in found if each.kind == kind]
        read = Counter(verdicts[key_of(each)] for each in of_kind if key_of(each) in verdicts)
        share = f"{read[True] / read.total():.2f}" if read else ""
        print(f"| {ontology} | {kind}s | {len(of_kind)} | {read.total()} | {read[True]} | {share} |")


def key_of(proposal: Proposal) -> Key:
    """What a verdict is of."""
    return (proposal.ontology, proposal.kind, *sorted(map(name_of, proposal.ends)))


def name_of(end: ProposalEnd) -> str:
    """An end, as verdicts name it."""
    return end.label or f"{end.source.document}#{end.source.paragraph}"


def show(proposal: Proposal) -> None:
    """Print a link to be read, in the form of a verdict, with both quotes."""
    print("\t".join(("?", *key_of(proposal))), f"  {proposal.score:.2f} {proposal.similarity:.2f}")
    for end in proposal.ends:
        print(f"    {name_of(end)}: {' '.join(end.quote.split())}")


if __name__ == "__main__":
    main()
