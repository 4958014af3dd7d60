"""Text that many documents repeat, such as a licence or the fields above a text: it says nothing. Pure.

What three documents share may be one text in several editions, and is what is asked for; so it takes more of
them, and only the lesser part of a document can be such text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kg_api.models.queries.similarity import RepeatedText
from kg_api.search.rank.duplicates import MIN_OVERLAP, overlap

MIN_DOCUMENTS: Final = 4
"""Of 157 PEPs that share a text of several paragraphs are three at most, of those with the same words of
copyright 49 and 93 (adr/0077)."""
MIN_FIELDS: Final = 3
"""Names that a text has, each once for the greater part: those who speak in a transcript come again."""
MIN_SHARED: Final = 0.5
"""Of the names of the text that has fewer of them, the share that makes two texts one kind of fields."""
EXCERPT: Final = 200
_FIELD = re.compile(r"(?m)^(?P<name>\w[\w -]{0,30}):(?:[ \t]+(?P<value>\S.*))?$")
_SENTENCE = re.compile(r"[.!?…。！？।]\W*$")
_MORE = re.compile(r"\s")


def repeated_groups(
    texts: Sequence[str],
    documents: Sequence[str],
    same: Sequence[Sequence[int]],
    named: Collection[int] = (),
    *,
    whole: bool = True,
) -> list[list[int]]:
    """Which of some texts are repeated by many documents; groups of their numbers, each ascending.

    Args:
        texts: of the sources.
        documents: the document of each.
        same: groups of those that say almost the same, as `near_duplicates` gives them.
        named: those that were asked for; what they say is not set apart.
        whole: whether these are all sources of their documents: then a document that is such text for the
            greater part is a copy of others, and keeps it.
    """
    groups = [group for group in _alike(texts, same) if len({documents[at] for at in group}) >= MIN_DOCUMENTS]
    groups = [group for group in groups if not {*named} & {*group}]
    if not whole:
        return groups
    sizes, found = Counter(documents), Counter(documents[at] for group in groups for at in group)
    return [
        kept
        for group in groups
        if (kept := [at for at in group if 2 * found[documents[at]] <= sizes[documents[at]]])
    ]


def repeats(text: str, others: Mapping[str, Sequence[str]]) -> int:
    """How many documents have a text, its own counted too.

    Args:
        text: of a source.
        others: what is near to it in other documents, by document.
    """
    own = fields_of(text)
    alike = (any(_same(text, own, each) for each in found) for found in others.values())
    return 1 + sum(alike)


def fields_of(text: str) -> frozenset[str]:
    """The names of a text's fields, where it is nothing but fields, such as the header of a message."""
    lines = [line for line in text.splitlines() if line.strip()]
    fields = [found for line in lines if (found := _FIELD.match(line))]
    others = sum(1 for line in lines if not _FIELD.match(line) and not _MORE.match(line))
    names = frozenset(field["name"].casefold() for field in fields)
    return names if len(names) >= MIN_FIELDS and not others and not _is_speech(fields, names) else frozenset()


def describe_repeated(text: str, documents: int, source_ids: Sequence[str]) -> RepeatedText:
    return RepeatedText(
        text=" ".join(text.split())[:EXCERPT], documents=documents, source_ids=list(source_ids)
    )


def _alike(texts: Sequence[str], same: Sequence[Sequence[int]]) -> list[list[int]]:
    """Texts of the same kind of fields, and others that say almost the same."""
    kinds = defaultdict[frozenset[str], list[int]](list)
    for at, text in enumerate(texts):
        if own := fields_of(text):
            kinds[next((kind for kind in kinds if _same_kind(kind, own)), own)].append(at)
    among = {at for group in kinds.values() for at in group}
    return [*kinds.values(), *([at for at in group if at not in among] for group in same)]


def _same(text: str, own: frozenset[str], other: str) -> bool:
    return _same_kind(own, fields_of(other)) if own else overlap(text, other) >= MIN_OVERLAP


def _same_kind(own: frozenset[str], other: frozenset[str]) -> bool:
    return bool(other) and len(own & other) >= MIN_SHARED * min(len(own), len(other))


def _is_speech(fields: Sequence[re.Match[str]], names: frozenset[str]) -> bool:
    """Whether fields are rather what several people say: names that come again, or sentences."""
    sentences = sum(1 for field in fields if field["value"] and _SENTENCE.search(field["value"]))
    return 2 * len(names) <= len(fields) or 2 * sentences > len(fields)
