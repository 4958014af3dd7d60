"""Detection of equal concepts by spelling and vectors, merges, and their reversal."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, product
from typing import Final, Literal

import structlog

from kg_api.errors import TooMuchAtOnce
from kg_api.graph.client import Graph, split_into_portions
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concept_vectors import (
    NearConcepts,
    find_near_concept_pairs,
    get_min_neighbour_cosine,
    link_concepts,
)
from kg_api.graph.concepts import Text
from kg_api.graph.spaces import Space
from kg_api.graph.targets import Plan
from kg_api.graph.text_analysis import EXTENDING
from kg_api.providers.retrying import ask_at_once
from kg_api.schemas.base import normalize_concept_name
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.spaces.registry import SpaceRegistry

# Spellings of one name
#
# Names of different things often differ by one letter, and vectors do not separate them. So the rules allow
# only changes that rarely change the meaning. Numbers and words that look like code must be equal.

Spelling = Literal["mark", "plural", "plural of one word", "order", "hyphen", "acronym", "acronym alone"]
"""Difference between two labels.

`mark` means accents, points, apostrophes, articles, number words or the order of a date. `order` means "X of
Y" and "Y X". `acronym alone` means a label without other words.
"""

LABELS: Final = 4096  # cached labels: each concept of a batch is compared with its neighbours
_PART = rf"[^\W_](?:[^\W_]|[{EXTENDING}])*"
_WORD = re.compile(rf"{_PART}(?:[.,:/'-]{_PART})*[+#]*")
_POINTS = re.compile(r"\b(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?")
_QUIET = frozenset(" .,;:?'\"()[]&/-")
_DIAERESIS: Final = "\u0308"  # distinguishes words in German
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
""".split()  # noqa: SIM905 - plurals with a meaning of their own
_SHORT_FOR_IS = {
    f"{word}'s" for word in ("he", "here", "how", "it", "let", "she", "that", "there", "what", "where", "who")
}
_BRITISH = (
    (re.compile(r"(?<=...)our(?=(?:s|al|ful|able|ites?)?$)"), "or"),
    (re.compile(r"(?<=....)is(?=(?:e|es|ed|ing|ations?|ers?)$)"), "iz"),
)
"""The minimum numbers of letters exclude other words, such as poured and pored, or prise and prize."""


@lru_cache(LABELS)
def _normalise(label: str) -> str:
    text = unicodedata.normalize("NFKC", label).replace("\u2019", "'")
    return re.sub(r"[\u2010-\u2015]", "-", text)


@lru_cache(LABELS)
def split_label(label: str) -> tuple[str, ...]:
    """Return the words of a label, abbreviations without points. 3.10 and "non-zero" are one word each."""
    text = _normalise(label).replace("&", " and ")
    return tuple(_WORD.findall(_POINTS.sub(lambda found: found[0].replace(".", ""), text)))


def compare_spelling(one: str, other: str) -> Spelling | None:
    """Return the difference between two spellings of one name, or None for two names."""
    symbols, others = (
        Counter(each for each in _normalise(label) if not each.isalnum() and each not in _QUIET)
        for label in (one, other)
    )
    if symbols != others:
        return None
    a, b = split_label(one), split_label(other)
    parts, more = ([part for word in whole for part in word.split("-")] for whole in (a, b))
    return (
        _compare_words(parts, more)
        or _match_dates(parts, more)
        or _match_turned(a, b)
        or _match_turned(b, a)
        or _match_joined(a, b)
        or _match_acronym(parts, more)
    )


def _compare_words(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Compare word by word. Articles may be missing."""
    bare, other = _omit_articles(a), _omit_articles(b)
    if len(bare) != len(other) or not bare:
        return None
    pairs = [(p, q, _compare_word(p, q)) for p, q in zip(bare, other, strict=True)]
    # The name "The Doors" is not the word "doors". So an article may not be missing from one word.
    if any(kind is None for _, _, kind in pairs) or (len(a) != len(b) and len(bare) == 1):
        return None
    plurals = [(p, q) for p, q, kind in pairs if kind == "plural"]
    if not plurals:
        return "mark"
    # Names have no plural: "Peters" is not "Peter", and "Windows API" is not about windows.
    if len(bare) == 1:
        return "plural of one word" if (bare[0] + other[0]).islower() else None
    titles = sum(p[0].isupper() != q[0].isupper() for p, q, _ in pairs)
    if titles <= 1 and any(p[0].isupper() or q[0].isupper() for p, q in plurals):
        return None
    return None if any(p[0].isupper() and q[0].isupper() for p, q in plurals) else "plural"


def _omit_articles(whole: Sequence[str]) -> list[str]:
    return [word for word in whole if word.casefold() != _ARTICLE]


def _compare_word(p: str, q: str) -> Literal["same", "mark", "plural"] | None:
    one, other = p.casefold(), q.casefold()
    if one == other:
        return "same"
    if (
        _normalize_number(one) == _normalize_number(other)
        or _differ_in_apostrophe(p, q)
        or _differ_in_accents(p, q)
    ):
        return "mark"
    if not (_is_plain(p) and _is_plain(q)):
        return None
    american, less = one, other
    for british, spelt in _BRITISH:
        american, less = british.sub(spelt, american), british.sub(spelt, less)
    if american == less:
        return "mark"
    return "plural" if other in _list_singulars(one) or one in _list_singulars(other) else None


def _is_plain(word: str) -> bool:
    """Check for a word of ASCII letters that does not look like code."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _normalize_number(word: str) -> str:
    if word in _CARDINALS:
        return str(_CARDINALS.index(word))
    if word in _ORDINALS:
        return f"{_ORDINALS.index(word) + 1}th"
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "th", word)


def _differ_in_apostrophe(p: str, q: str) -> bool:
    """Check for a possessive or a missing apostrophe. "80's" is not 80, and "here's" is not here."""
    one, other = p.casefold(), q.casefold()
    bare, more = one.replace("'", ""), other.replace("'", "")
    if "'" not in one + other or not (bare.isalpha() and more.isalpha()) or {one, other} & _SHORT_FOR_IS:
        return False
    owner, owned = (each.removesuffix("'s").removesuffix("'") for each in (one, other))
    return (bare == more and p[0].isupper() == q[0].isupper()) or owner == owned


def _differ_in_accents(p: str, q: str) -> bool:
    """Check for a name without its accents. In other words, accents change the meaning."""
    one, other = (unicodedata.normalize("NFD", each.casefold()) for each in (p, q))
    bare, more = (re.sub(r"[\u0300-\u036f]", "", each) for each in (one, other))
    named = p[:1].isupper() and q[:1].isupper()
    return (
        named and bare == more and bare.isascii() and bare in (one, other) and _DIAERESIS not in one + other
    )


def _list_singulars(word: str) -> Iterator[str]:
    """Yield possible singulars of a word. http is not the singular of https."""
    if word in _OTHER_THINGS or word.endswith("ics"):
        return
    if word.endswith("ies") and len(word) > len("ties"):
        yield f"{word[:-3]}y"
    if re.search("(?:ss|sh|ch|x|z)es$", word):
        yield word[:-2]
    if len(word) > len("pis") and re.search("[aeiouy].*[^sui]s$", word):
        yield word[:-1]


def _match_dates(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Match dates with their parts in another order."""
    one, other = ([_normalize_number(word.casefold()).removesuffix("th") for word in each] for each in (a, b))
    is_date = all(word in _MONTHS or word.isdecimal() for word in one) and any(map(_MONTHS.__contains__, one))
    return "mark" if is_date and sorted(one) == sorted(other) else None


def _match_turned(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Match "X of Y" with "Y X"."""
    lower = [word.casefold() for word in a]
    if lower.count("of") != 1 or "of" in (word.casefold() for word in b):
        return None
    at = lower.index("of")
    turned = [*_omit_articles(a[at + 1 :]), *_omit_articles(a[:at])]
    fits = 0 < at < len(a) - 1 and _compare_words(turned, b) is not None
    return "order" if fits and len(turned) == len(b) else None


def _match_joined(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Match words that differ only in hyphens."""
    one, other = (["".join(word.casefold().split("-")) for word in each] for each in (a, b))
    differ = [pair for pair in zip(a, b, strict=False) if pair[0].casefold() != pair[1].casefold()]
    plain = all(_is_plain(word.replace("-", "").lower()) for pair in differ for word in pair)
    return "hyphen" if differ and one == other and plain else None


def _match_acronym(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Match an acronym in capitals with its words. All other words must be equal."""
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


# Equal concepts, by names and vectors
#
# A wrong merge hides one of two things without notice. A duplicate only appears twice in results. So every
# rule requires similar names and similar vectors. The thresholds are measured (ADR 22).

Reason = Spelling | Literal["alias", "mutual alias"]
"""Reason for a merge: two spellings of one name, or one concept is an alias of the other."""

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
"""Minimum of `likeness` for a merge."""
_ROUNDING: Final = 1e-6
"""Rounding error of cosines: the prefilter must not exclude a pair that a rule accepts."""
UNKNOWN: Final = 0.76  # default for the cosine of unrelated texts: the highest of all known models
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
"""Words with opposite meanings. A missing word also counts as an opposite of the others."""
_OTHERS = ({"male", "female"}, {"men", "women"}, {"king", "queen"}, {"prince", "princess"})


def get_min_merge_cosine(calibration: SimilarityCalibration | None) -> float:
    """Get the minimum cosine of concepts that any rule merges."""
    unrelated = UNKNOWN if calibration is None else calibration.unrelated
    return unrelated + min(MIN_LIKENESS.values()) * (1 - unrelated) - _ROUNDING


def scale_similarity(cosine: float, calibration: SimilarityCalibration | None) -> float:
    """Return a cosine on a scale that models share: 0 for unrelated texts, 1 for equal ones."""
    unrelated = UNKNOWN if calibration is None else calibration.unrelated
    return (cosine - unrelated) / (1 - unrelated)


def find_merge_reason(a: Text, b: Text, alikeness: float) -> Reason | None:
    """Return the reason to merge two concepts, or None.

    Labels of concepts that were merged before count as aliases. If any names of the two concepts are
    counterparts, such as "Article 5" and "Article 6", the concepts differ.
    """
    reasons = [
        normalize_concept_name(b.label) in map(normalize_concept_name, a.terms),
        normalize_concept_name(a.label) in map(normalize_concept_name, b.terms),
    ]
    alias: Reason | None = None
    if any(reasons) and not _is_contrary(a.label, b.label):
        alias = "mutual alias" if all(reasons) else "alias"
    for reason in (compare_spelling(a.label, b.label), alias):
        if reason is not None and alikeness >= MIN_LIKENESS[reason]:
            pairs = chain(product(a.terms, (b.label, *b.terms)), product((a.label,), b.terms))
            return None if any(_are_counterparts(p, q) for p, q in pairs) else reason
    return None


def _is_contrary(one: str, other: str) -> bool:
    """Check if labels differ by a number, a negation or an opposite, which outweighs an alias."""
    more, less = _find_differing_words(one, other)
    numbers, others = (
        {word for word in split_label(label) if _NUMBER.search(word)} for label in (one, other)
    )
    if numbers and others and numbers != others:
        return True
    return any(_are_opposed(p, q) for p, q in product(more or {""}, less or {""}))


def _are_counterparts(one: str, other: str) -> bool:
    """Check if two names differ only by a number, a negation or an opposite."""
    more, less = _find_differing_words(one, other)
    if not (more or less) or max(len(more), len(less)) > 1:
        return False
    p, q = (next(iter(each), "") for each in (more, less))
    return (_NUMBER.search(p) is not None and _NUMBER.search(q) is not None) or _are_opposed(p, q)


def _find_differing_words(one: str, other: str) -> tuple[set[str], set[str]]:
    """Return the words that only one of two labels has, for each label."""
    a, b = ({_ORDINAL.sub("", word.casefold()) for word in split_label(label)} for label in (one, other))
    return a - b, b - a


def _are_opposed(p: str, q: str) -> bool:
    pair = {p, q}
    if any(pair & group and pair <= group | {""} for group in _OPPOSITES):
        return True
    bare = p.replace("-", ""), q.replace("-", "")
    denies = any(bare[0] == f"{each}{q}" or bare[1] == f"{each}{p}" for each in _NOT)
    return bool(p and q) and (denies or any(pair <= group for group in _OTHERS))


# Links between similar concepts, and merges

NEIGHBOURS = 20  # compared neighbours of each concept
PORTION = 64  # concepts whose neighbours are processed together
ASKED_AT_ONCE = 16  # concepts per statement: the statements of a portion run in parallel
log = structlog.get_logger()


def merge_near(graph: Graph, space: Space, ontology: str, concept_ids: Iterable[str]) -> int:
    """Link concepts with their neighbours, merge equal ones, and return the number of merges.

    Merged concepts are processed again. The function is idempotent and safe in parallel with other writers
    and merges. A merge changes the text of the concept that remains, so that concept is pending for
    embedding. Two concepts with too many sources for one transaction are not merged.
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
    for ids in split_into_portions([*dict.fromkeys(concept_ids)], PORTION):
        _link(graph, space, ontology, ids)


def link_embedded(graph: Graph, spaces: SpaceRegistry, plan: Plan, concept_ids: Iterable[str]) -> None:
    """Link newly embedded concepts. Only vectors of the space that answers searches can cause merges."""
    # Stored links and merges do not change when a calibration follows, so they must not rest on defaults
    space = plan.space if plan.space.calibration else spaces.get_open(plan.space).calibrate()
    if plan.answers:
        merge_near(graph, space, plan.ontology, concept_ids)
    else:
        link_near(graph, space, plan.ontology, concept_ids)


def _link(graph: Graph, space: Space, ontology: str, ids: Sequence[str]) -> list[NearConcepts]:
    """Link concepts with their neighbours and return the pairs, nearest first."""
    least = min(get_min_merge_cosine(space.calibration), get_min_neighbour_cosine(space))

    def find_pairs(some: Sequence[str]) -> list[NearConcepts]:
        return find_near_concept_pairs(graph, space, ontology, some, NEIGHBOURS, least=least)

    lookups = [partial(find_pairs, some) for some in split_into_portions(ids, ASKED_AT_ONCE)]
    found = chain.from_iterable(ask_at_once(lookups, len(lookups)))  # lookups are slow
    near = sorted(found, key=lambda each: (-each.cosine, each.ids))
    link_concepts(graph, space, {own: [pair for pair in near if pair.ids[0] == own] for own in ids})
    return near


def _merge_pair(graph: Graph, pair: NearConcepts, space: Space) -> str | None:
    """Merge two equal concepts and return the id of the remaining one, or None if they differ."""
    near = scale_similarity(pair.cosine, space.calibration)
    if (reason := find_merge_reason(*pair.texts, near)) is None:
        return None

    def is_still_equal(one: Text, other: Text) -> bool:
        return find_merge_reason(one, other, near) is not None

    try:
        kept = merge_concepts(graph, pair.ids, is_still_equal, reason, round(pair.cosine, 4))
    except TooMuchAtOnce as error:  # too many sources for one transaction
        log.warning("concepts_not_merged", concept_ids=pair.ids, reason=str(error))
        return None
    if kept is not None:
        labels = [text.label for text in pair.texts]
        log.info("concepts_merged", kept=kept, labels=labels, cosine=round(pair.cosine, 3), reason=reason)
    return kept
