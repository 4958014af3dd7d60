"""Which concepts are one, by their spellings and their vectors; merging them and undoing a merge."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain, product
from typing import Final, Literal

import structlog

from kg_api.errors import NotFound, TooMuchAtOnce
from kg_api.graph.client import Graph, portions
from kg_api.graph.concept_merges import merge_concepts, read_concept_merges, unmerge_concepts
from kg_api.graph.concept_vectors import NearConcepts, least_near, link_concepts, near_concepts
from kg_api.graph.concepts import Text, find_concept
from kg_api.graph.spaces import Space
from kg_api.graph.targets import Plan
from kg_api.schemas.base import concept_name
from kg_api.schemas.concepts import ConceptMerge, ConceptMerges
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.spaces.plans import read_embedding_state

# What was merged, and taking it back.


class ConceptMergeRecords:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def page(self, ontology: str, concept_id: str | None, offset: int, limit: int) -> ConceptMerges:
        """What became one, the last first; or only what became part of one concept."""
        read_embedding_state(self._graph, ontology)
        merges, total = read_concept_merges(self._graph, ontology, offset, limit, concept_id=concept_id)
        if concept_id is not None and not total:
            found = find_concept(self._graph, concept_id)  # by the beginning of its id
            if found.ontology != ontology:
                raise NotFound(f"the concept {concept_id!r} is of {found.ontology}, not of {ontology}")
            whole = found.concept_id
            merges, total = read_concept_merges(self._graph, ontology, offset, limit, concept_id=whole)
        return ConceptMerges(ontology=ontology, merges=merges, total=total, offset=offset, limit=limit)

    def undo(self, ontology: str, merge_id: str, by: str | None) -> ConceptMerge:
        read_embedding_state(self._graph, ontology)
        return unmerge_concepts(self._graph, ontology, merge_id, by)


# Whether two labels are spellings of one name. Pure.
#
# Names of two things often differ by one letter, and no vector tells them apart; so only changes are
# known here
# that hardly ever change what is meant. Nothing is said of numbers, and of words that look like code:
# they are
# the same or they differ.

Spelling = Literal["mark", "plural", "plural of one word", "order", "hyphen", "acronym", "acronym alone"]
"""What differs: accents, points, apostrophes, articles, number words or the order of a date (`mark`); a
plural; "X of Y" and "Y X"; a hyphen; an acronym among other words, or alone."""

LABELS: Final = 4096
"""So many are remembered as they are read: each of a batch is compared with those near to it."""
_WORD = re.compile(r"[^\W_]+(?:[.,:/'-][^\W_]+)*[+#]*")
_POINTS = re.compile(r"\b(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?")
_QUIET = frozenset(" .,;:?'\"()[]&/-")
_DIAERESIS: Final = "\u0308"
"""Tells words apart in German."""
_ARTICLE: Final = "the"
_PASSED_OVER = frozenset({"of", "the", "and", "for", "in", "on"})
_MONTHS = """
    january february march april may june july august september october november december
""".split()  # noqa: SIM905 - words, not punctuation
_CARDINALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
""".split()  # noqa: SIM905
_ORDINALS = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""".split()  # noqa: SIM905
_OTHER_THINGS = """
    arms authorities brains contents customs damages financials forces glasses goods grounds lines looks
    manners means minutes news premises regards remains savings securities spectacles spirits terms thanks
    waters works
""".split()  # noqa: SIM905
"""Plurals that mean something else than several of it."""
_SHORT_FOR_IS = {
    f"{word}'s" for word in ("he", "here", "how", "it", "let", "she", "that", "there", "what", "where", "who")
}
_BRITISH = (
    (re.compile(r"(?<=...)our(?=(?:s|al|ful|able|ites?)?$)"), "or"),
    (re.compile(r"(?<=....)is(?=(?:e|es|ed|ing|ations?|ers?)$)"), "iz"),
)
"""Behind so many letters that no other word is meant, as with poured and pored, prise and prize."""


@lru_cache(LABELS)
def _normalise(label: str) -> str:
    text = unicodedata.normalize("NFKC", label).replace("\u2019", "'")
    return re.sub(r"[\u2010-\u2015]", "-", text)


@lru_cache(LABELS)
def words(label: str) -> tuple[str, ...]:
    """The words of a label: abbreviations without their points; 3.10 is one word, and so is "non-zero"."""
    text = _normalise(label).replace("&", " and ")
    return tuple(_WORD.findall(_POINTS.sub(lambda found: found[0].replace(".", ""), text)))


def alike(one: str, other: str) -> Spelling | None:
    """How two labels differ, if they are spellings of one name."""
    symbols, others = (
        Counter(each for each in _normalise(label) if not each.isalnum() and each not in _QUIET)
        for label in (one, other)
    )
    if symbols != others:
        return None
    a, b = words(one), words(other)
    parts, more = ([part for word in whole for part in word.split("-")] for whole in (a, b))
    return (
        _align(parts, more)
        or _match_dates(parts, more)
        or _match_turned(a, b)
        or _match_turned(b, a)
        or _match_joined(a, b)
        or _match_acronym(parts, more)
    )


def _align(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Word for word; articles may be missing where what follows is written alike."""
    bare, other = _bare(a), _bare(b)
    if len(bare) != len(other) or not bare:
        return None
    pairs = [(p, q, _pair(p, q)) for p, q in zip(bare, other, strict=True)]
    # A name of one word and an article, such as "The Doors", is not the word without it.
    if any(kind is None for _, _, kind in pairs) or (len(a) != len(b) and len(bare) == 1):
        return None
    plurals = [(p, q) for p, q, kind in pairs if kind == "plural"]
    if not plurals:
        return "mark"
    # Names have no plural: "Peters" is not "Peter", nor is the "Windows API" one of windows.
    if len(bare) == 1:
        return "plural of one word" if (bare[0] + other[0]).islower() else None
    titles = sum(p[0].isupper() != q[0].isupper() for p, q, _ in pairs)
    if titles <= 1 and any(p[0].isupper() or q[0].isupper() for p, q in plurals):
        return None
    return None if any(p[0].isupper() and q[0].isupper() for p, q in plurals) else "plural"


def _bare(whole: Sequence[str]) -> list[str]:
    return [word for word in whole if word.casefold() != _ARTICLE]


def _pair(p: str, q: str) -> Literal["same", "mark", "plural"] | None:
    one, other = p.casefold(), q.casefold()
    if one == other:
        return "same"
    if _number(one) == _number(other) or _differ_in_apostrophe(p, q) or _differ_in_accents(p, q):
        return "mark"
    if not (_is_plain(p) and _is_plain(q)):
        return None
    american, less = one, other
    for british, spelt in _BRITISH:
        american, less = british.sub(spelt, american), british.sub(spelt, less)
    if american == less:
        return "mark"
    return "plural" if other in _singulars(one) or one in _singulars(other) else None


def _is_plain(word: str) -> bool:
    """Of ASCII letters, written as a word is, not as code."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _number(word: str) -> str:
    if word in _CARDINALS:
        return str(_CARDINALS.index(word))
    if word in _ORDINALS:
        return f"{_ORDINALS.index(word) + 1}th"
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "th", word)


def _differ_in_apostrophe(p: str, q: str) -> bool:
    """A possessive, or the apostrophe alone; the 80's are not 80, nor is "here's" here."""
    one, other = p.casefold(), q.casefold()
    bare, more = one.replace("'", ""), other.replace("'", "")
    if "'" not in one + other or not (bare.isalpha() and more.isalpha()) or {one, other} & _SHORT_FOR_IS:
        return False
    owner, owned = (each.removesuffix("'s").removesuffix("'") for each in (one, other))
    return (bare == more and p[0].isupper() == q[0].isupper()) or owner == owned


def _differ_in_accents(p: str, q: str) -> bool:
    """A name that was written without its accents; in other words than names they change what is meant."""
    one, other = (unicodedata.normalize("NFD", each.casefold()) for each in (p, q))
    bare, more = (re.sub(r"[\u0300-\u036f]", "", each) for each in (one, other))
    named = p[:1].isupper() and q[:1].isupper()
    return (
        named and bare == more and bare.isascii() and bare in (one, other) and _DIAERESIS not in one + other
    )


def _singulars(word: str) -> Iterator[str]:
    """What a word may be the plural of; http is not the singular of https."""
    if word in _OTHER_THINGS or word.endswith("ics"):
        return
    if word.endswith("ies") and len(word) > len("ties"):
        yield f"{word[:-3]}y"
    if re.search("(?:ss|sh|ch|x|z)es$", word):
        yield word[:-2]
    if len(word) > len("pis") and re.search("[aeiouy].*[^sui]s$", word):
        yield word[:-1]


def _match_dates(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """The parts of a date may stand in any order."""
    one, other = ([_number(word.casefold()).removesuffix("th") for word in each] for each in (a, b))
    is_date = all(word in _MONTHS or word.isdecimal() for word in one) and any(map(_MONTHS.__contains__, one))
    return "mark" if is_date and sorted(one) == sorted(other) else None


def _match_turned(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """The first is "X of Y", and the second "Y X"."""
    lower = [word.casefold() for word in a]
    if lower.count("of") != 1 or "of" in (word.casefold() for word in b):
        return None
    at = lower.index("of")
    turned = [*_bare(a[at + 1 :]), *_bare(a[:at])]
    fits = 0 < at < len(a) - 1 and _align(turned, b) is not None
    return "order" if fits and len(turned) == len(b) else None


def _match_joined(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """A word that one writes with a hyphen, and the other without."""
    one, other = (["".join(word.casefold().split("-")) for word in each] for each in (a, b))
    differ = [pair for pair in zip(a, b, strict=False) if pair[0].casefold() != pair[1].casefold()]
    plain = all(_is_plain(word.replace("-", "").lower()) for pair in differ for word in pair)
    return "hyphen" if differ and one == other and plain else None


def _match_acronym(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """One has the initials in capitals of what the other spells out, and the rest is the same."""
    one, other = [*a], [*b]
    for end in (0, -1):
        while one and other and one[end].casefold() == other[end].casefold():
            one.pop(end)
            other.pop(end)
    for short, spelt in ((one, other), (other, one)):
        named = [word for word in spelt if word.casefold() not in _PASSED_OVER]
        initials = "".join(word[0] for word in named).casefold()
        is_acronym = len(short) == 1 and len(short[0]) > 1 and short[0].isupper() and short[0].isalpha()
        if is_acronym and len(named) > 1 and initials == short[0].casefold():
            return "acronym alone" if len(one) == len(a) and len(other) == len(b) else "acronym"
    return None


# Whether two concepts are one: by how they are called, and how near their vectors are. Pure.
#
# A wrong merge hides one of two things, and nobody finds out; a double is found twice. So every rule asks for
# both. The thresholds are measured (ADR 22).

Reason = Spelling | Literal["alias", "mutual alias"]
"""Why two concepts are one: they are spellings of one name, or one is said to be a name of the other."""

MIN_LIKENESS: Final[dict[Reason, float]] = {
    "mark": 0.6,
    "plural": 0.75,
    "plural of one word": 0.8,
    "order": 0.8,
    "hyphen": 0.65,
    "acronym": 0.85,
    "acronym alone": 0.74,
    "alias": 0.75,
    "mutual alias": 0.6,
}
"""How alike two concepts must be at least, on the scale of `likeness`."""
_ROUNDING: Final = 1e-6
"""Of cosines: what is left out before names are compared would not be the same by any rule."""
UNKNOWN: Final = 0.76
"""Taken for the cosine of unrelated texts where it was not measured: that of the most crowded model known."""
_NUMBER = re.compile(r"\d")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_NOT = ("non", "un", "in", "im", "ir", "il", "dis", "anti", "a", "de", "pre", "post", "sub", "super")
_OPPOSITES = (
    {"north", "south", "east", "west", "northern", "southern", "eastern", "western"},
    {"upper", "lower", "inner", "outer", "left", "right", "top", "bottom"},
    {"old", "new", "former", "early", "late", "first", "last"},
    {"senior", "junior", "sr", "jr", "major", "minor", "maximum", "minimum"},
    {"not", "no", "with", "without"},
)
"""What one of them is said of is not what another is said of, or none."""
_OTHERS = ({"male", "female"}, {"men", "women"}, {"king", "queen"}, {"prince", "princess"})


def least_cosine(calibration: SimilarityCalibration | None) -> float:
    """Concepts whose vectors are farther from each other than that are two, however they are called."""
    unrelated = UNKNOWN if calibration is None else calibration.unrelated
    return unrelated + min(MIN_LIKENESS.values()) * (1 - unrelated) - _ROUNDING


def likeness(cosine: float, calibration: SimilarityCalibration | None) -> float:
    """A cosine on a scale that models share: 0 for unrelated texts, 1 for equal ones."""
    unrelated = UNKNOWN if calibration is None else calibration.unrelated
    return (cosine - unrelated) / (1 - unrelated)


def same(a: Text, b: Text, alikeness: float) -> Reason | None:
    """Why two concepts are one; None when they are not, or when it cannot be told.

    Labels are compared with labels: what merged into a concept before is a name of it, and counts as an
    alias. And none of their names may be counterparts, such as "Article 5" and "Article 6".
    """
    said = [
        concept_name(b.label) in map(concept_name, a.terms),
        concept_name(a.label) in map(concept_name, b.terms),
    ]
    alias: Reason | None = None
    if any(said) and not _is_contrary(a.label, b.label):
        alias = "mutual alias" if all(said) else "alias"
    for reason in (alike(a.label, b.label), alias):
        if reason is not None and alikeness >= MIN_LIKENESS[reason]:
            pairs = chain(product(a.terms, (b.label, *b.terms)), product((a.label,), b.terms))
            return None if any(_are_counterparts(p, q) for p, q in pairs) else reason
    return None


def _is_contrary(one: str, other: str) -> bool:
    """Whether labels differ by a number, a negation or an opposite: then they are two, whatever is said."""
    more, less = _differences(one, other)
    numbers, others = ({word for word in words(label) if _NUMBER.search(word)} for label in (one, other))
    if numbers and others and numbers != others:
        return True
    return any(_are_opposed(p, q) for p, q in product(more or {""}, less or {""}))


def _are_counterparts(one: str, other: str) -> bool:
    """Whether two names differ only by a number, a negation or an opposite."""
    more, less = _differences(one, other)
    if not (more or less) or max(len(more), len(less)) > 1:
        return False
    p, q = (next(iter(each), "") for each in (more, less))
    return (_NUMBER.search(p) is not None and _NUMBER.search(q) is not None) or _are_opposed(p, q)


def _differences(one: str, other: str) -> tuple[set[str], set[str]]:
    """The words of one label that the other lacks, and the other way round."""
    a, b = ({_ORDINAL.sub("", word.casefold()) for word in words(label)} for label in (one, other))
    return a - b, b - a


def _are_opposed(p: str, q: str) -> bool:
    pair = {p, q}
    if any(pair & group and pair <= group | {""} for group in _OPPOSITES):
        return True
    bare = p.replace("-", ""), q.replace("-", "")
    denies = any(bare[0] == f"{each}{q}" or bare[1] == f"{each}{p}" for each in _NOT)
    return bool(p and q) and (denies or any(pair <= group for group in _OTHERS))


# Concepts are linked with what is near to them in meaning, and those that are one become one.

NEIGHBOURS = 20
"""So many of each concept are looked at."""
PORTION = 64
"""Concepts whose neighbours are looked at together."""
ASKED_AT_ONCE = 16
"""Of them, by one statement; the statements run beside each other."""
log = structlog.get_logger()


def merge_near(graph: Graph, space: Space, ontology: str, concept_ids: Iterable[str]) -> int:
    """Link some concepts, and merge them with those of their ontology that are the same; how many went.

    What a merge leaves is looked at again. Safe to repeat, and while others write or merge. The text of a
    concept that another went into has changed, so it is due for embedding, whatever its id. Two of so many
    sources that merging them takes more than one transaction has stay two.
    """
    waiting = deque(dict.fromkeys(concept_ids))
    merged = 0
    while waiting:
        ids = [waiting.popleft() for _ in range(min(PORTION, len(waiting)))]
        seen, left = set[frozenset[str]](), list[str]()
        for pair in _link(graph, space, ontology, ids):
            both = frozenset(pair.ids)
            if both not in seen and (kept := _merge_pair(graph, pair, space)):
                left.append(kept)
            seen.add(both)
        merged += len(left)
        waiting.extend(dict.fromkeys(left))
    return merged


def link_near(graph: Graph, space: Space, ontology: str, concept_ids: Iterable[str]) -> None:
    """Link some concepts with those of their ontology that are near to them in meaning."""
    for ids in portions([*dict.fromkeys(concept_ids)], PORTION):
        _link(graph, space, ontology, ids)


def link_embedded(graph: Graph, plan: Plan, concept_ids: Iterable[str]) -> None:
    """Link concepts that were just embedded. Only vectors that answer searches decide over merges."""
    if plan.answers:
        merge_near(graph, plan.space, plan.ontology, concept_ids)
    else:
        link_near(graph, plan.space, plan.ontology, concept_ids)


def _link(graph: Graph, space: Space, ontology: str, ids: Sequence[str]) -> list[NearConcepts]:
    """Link some with those near to them; return the pairs, the nearest first."""
    least = min(least_cosine(space.calibration), least_near(space))

    def look(some: Sequence[str]) -> list[NearConcepts]:
        return near_concepts(graph, space, ontology, some, NEIGHBOURS, least=least)

    parts = [*portions(ids, ASKED_AT_ONCE)]
    with ThreadPoolExecutor(len(parts)) as pool:  # looking up takes its time
        found = chain.from_iterable(pool.map(look, parts))
        near = sorted(found, key=lambda each: (-each.cosine, each.ids))
    link_concepts(graph, space, {own: [pair for pair in near if pair.ids[0] == own] for own in ids})
    return near


def _merge_pair(graph: Graph, pair: NearConcepts, space: Space) -> str | None:
    """Merge two concepts if they are the same; return the id of the one that stays, if they were merged."""
    near = likeness(pair.cosine, space.calibration)
    if (reason := same(*pair.texts, near)) is None:
        return None

    def still(one: Text, other: Text) -> bool:
        return same(one, other, near) is not None

    try:
        kept = merge_concepts(graph, pair.ids, still, reason, round(pair.cosine, 4))
    except TooMuchAtOnce as error:  # two of very many sources stay two; the rest goes on
        log.warning("concepts_not_merged", concept_ids=pair.ids, reason=str(error))
        return None
    if kept is not None:
        labels = [text.label for text in pair.texts]
        log.info("concepts_merged", kept=kept, labels=labels, cosine=round(pair.cosine, 3), reason=reason)
    return kept
