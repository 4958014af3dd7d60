import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.concept_terms import groups
from benchmarks.term_gold import GOLD, Score, read_gold, score
from kg_api.extraction.keyphrases import MAX_LABEL_LENGTH, MAX_QUOTE_LENGTH, QUOTES, KeyphraseExtractor
from kg_api.extraction.language import detect_language
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.base import hash_content
from kg_api.schemas.concepts import PER_SOURCE, Extraction
from kg_api.schemas.documents import DocumentRecord, Format, SourceSpan
from kg_api.text.documents import parse
from kg_api.text.sources import assign_blocks
from tests.support.growth import assert_linear

ABOUT = DocumentAbout("", {})


def sources(*texts: str, form: Format = "markdown") -> Sequence[SourceText]:
    found: list[SourceText] = []
    start = 0
    for at, text in enumerate(texts):
        found.append(SourceText(f"s{at}", "d", at, (), start, text, hash_content(text)))
        start += len(text)
    parsed = parse("".join(texts), "", form)
    spans = [SourceSpan(each.start, each.start + len(each.full_text), each.heading) for each in found]
    blocks = zip(found, assign_blocks(parsed, spans), strict=True)
    return [replace(source, blocks=known) for source, known in blocks]


def extract(document: Sequence[SourceText], per_source: int = 6) -> list[Extraction]:
    return KeyphraseExtractor(per_source).extract(document, document, ABOUT)


def labels(*texts: str, form: Format = "markdown") -> list[str]:
    found = extract(sources(*texts, form=form), 20)
    return [concept.label for each in found for concept in each.concepts]


def check(document: Sequence[SourceText], found: Sequence[Extraction], per_source: int) -> None:
    assert [each.source_id for each in found] == [each.source_id for each in document]
    for source, each in zip(document, found, strict=True):
        assert (each.content_hash, each.refused) == (source.content_hash, None)
        assert len(each.concepts) <= per_source
        folded = [concept.label.casefold() for concept in each.concepts]
        assert len(set(folded)) == len(folded)
        for concept in each.concepts:
            assert 0 < len(concept.label) <= MAX_LABEL_LENGTH
            assert concept.label == " ".join(concept.label.split())
            assert 0 <= concept.confidence <= 1
            assert 0 < len(concept.quotes) <= QUOTES
            for quote in concept.quotes:
                assert source.full_text[quote.start : quote.end] == quote.text
                assert 0 < len(quote.text) <= MAX_QUOTE_LENGTH
                assert quote.text == quote.text.strip()


PIECES = st.sampled_from(
    [
        *("The lease of a worker ends in ten seconds.", "Paris", "`code`", "```\n", "\n\n", "\n", " ", "- "),
        *("University of Copenhagen", "New York City", "PEP 8", "https://x.y/z_a?b=c", "des Königs Ansehen"),
        *(
            "дом Пушкина", "超级碗赛", "スーパーボウル", "المدينة", "e\u0301t\u00e9", "\U0001f600", "\x01",
            "\u200b",
        ),
        *("-", "of the", "import x = {1: 2}", "| a | b |", "Status: Final", "[1]_", "x" * 70, "1963", "# "),
        *("ist", "’s", "'", "July 2001"),
    ]
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map(" ".join))


@given(st.lists(TEXT.filter(str.strip), min_size=1, max_size=4), st.integers(1, 8))
def test_quotes_are_spans_and_labels_are_bounded(texts: list[str], per_source: int) -> None:
    document = sources(*texts)
    check(document, extract(document, per_source), per_source)


def test_long_document_is_read_in_parts() -> None:
    text = "The scheduler of Neptune Station renews every worker lease. " * 200
    document = sources(*[f"{text}\n\nChapter {n} names Captain Nemo{n}.\n" for n in range(20)])
    whole = extract(document)
    assert sum(len(each.full_text) for each in document) > 200_000
    assert all(each.concepts for each in whole)
    assert KeyphraseExtractor(6).extract(document[17:], document, ABOUT) == whole[17:]


@pytest.mark.parametrize(
    "text",
    [
        "Abstract\n========\n\nMotivation\n\nCopyright\n\nRejected Ideas\n",
        "Created: 05-Jul-2001\nStatus: Final\nType: Standards Track\n",
        "In July 2001, on Friday March 3, and on 3 March 1963 it was 12.5.",
        "```python\nWorkerLease = open_lease(TheWorker)\n```\n",
        "See https://example.org/Big_Lease/Worker and write to Some.One@example.org now.",
        "    WorkerLease = renew(TheWorker, every=10)\n    return WorkerLease.close()\n",
        "def renew_lease(worker_lease):\n    return worker_lease\n",
        "Use worker_lease and `a.b.c` and `lease-keeper --all` of :class:`Lease`, v14.5.0.",
        "<div class='LeaseBox'><WorkerLease id=3></div>",
    ],
)
def test_boilerplate_code_markup_and_dates_are_none(text: str) -> None:
    assert labels(text * 4) == []


def test_names_with_weak_words_stay_whole() -> None:
    assert "New York City" in labels("Its editor, who lives in New York City, met Mr. Olsen.")
    assert labels("They flew with Boeing 747 here. It was by Boeing 7471234 there.") == ["Boeing 747"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("They saw Alpha Beta Gamma Delta Omega Sigma here.", "Alpha Beta Gamma Delta Omega Sigma"),
        ("They saw Alpha Beta Gamma Delta Omega Sigma Kappa here.", None),
        ("A solar energy storage unit is here.", "solar energy storage unit"),
        ("The offshore wind turbine blade factory is old.", "turbine blade factory"),
        ("They flew with Boeing 7471 here.", "Boeing 7471"),
        ("They flew with Boeing 74712 here.", None),
        ("Then they met Xyq here.", "Xyq"),
        ("Then they met Xq here.", None),
        ("Die Temperatur ist hier und nicht da.", "Temperatur"),
        ("Die Regierung ist hier und nicht da.", None),
        ("Vio el vino de mesa de casa de campo.", "vino de mesa de casa"),
        ("Vio la energía solar de casa de campo.", "energía solar de casa"),
    ],
)
def test_limits_of_a_phrase_are_exact(text: str, found: str | None) -> None:
    assert labels(text) == ([found] if found else [])


def test_inflections_are_one_concept_of_the_document() -> None:
    first = "A weak reference may be of use to us. All weak references go with the thing that they are for."
    document = sources(first, "Weak references are of use, and they do not cost much.")
    found = extract(document)
    assert [[each.label for each in one.concepts] for one in found] == [["weak reference"]] * 2
    assert found[0].concepts[0].forms == ("weak references",)
    assert [quote.text for quote in found[0].concepts[0].quotes] == [
        "A weak reference may be of use to us.",
        "All weak references go with the thing that they are for.",
    ]


def test_quote_of_a_long_sentence_is_whole_words_around_the_phrase() -> None:
    before = "It was late and dark. " * 35
    text = f"{before}Now {'they ran and ' * 60}saw Neptune Station {'and nevertheless ' * 80}."
    (found,) = (each for each in extract(sources(text), 20)[0].concepts if each.label == "Neptune Station")
    (quote,) = found.quotes
    assert set(quote.text.split()) == {"they", "ran", "and", "saw", "nevertheless", "Neptune", "Station"}
    assert MAX_QUOTE_LENGTH - 20 <= len(quote.text) <= MAX_QUOTE_LENGTH


def test_forms_of_different_words_stay_separate() -> None:
    found = set(labels("A social experience is old. A social experiment is new."))
    assert found >= {"social experience", "social experiment"}


def test_longer_phrase_of_a_source_stands_for_its_parts() -> None:
    text = "A worker lease is new. The lease goes on. " * 4
    (found,) = extract(sources(text), 20)[0].concepts
    assert (found.label, len(found.quotes)) == ("worker lease", QUOTES)


UNITS = [
    *("a'", "a-", "A. ", "x", "word ", "Name ", "of the ", "超级碗", "超", '"(', "`", "``a"),
    *("- ", "_", "[", "<a", "a.b", "\n", "\x01", "e\u0301", "ab/"),
]
NUMBERED: dict[str, Callable[[int], str]] = {
    "Word0 Word1": lambda n: f"Word{n} ",
    "wortaa wortba": lambda n: f"wort{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} ",
}


def hostile(name: str, size: int) -> str:
    if name in NUMBERED:
        return "".join(map(NUMBERED[name], range(size // 7)))
    return name * (size // len(name)) + "x"


def seconds(text: str) -> float:
    started = time.process_time()
    document = sources(text)
    check(document, extract(document), 6)
    return time.process_time() - started


@pytest.fixture(scope="module")
def _loaded() -> None:
    labels("A first text in English is read here.")


@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize("name", [*UNITS, *NUMBERED])
def test_time_grows_with_the_text(name: str) -> None:
    assert_linear(lambda size: seconds(hostile(name, size)), 2_500, slack=0.025)


@pytest.mark.full
@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize("name", [*UNITS, *NUMBERED])
def test_hostile_texts_end_in_time(name: str) -> None:
    assert seconds(hostile(name, 200_000)) < 20


RUSSIAN = (
    "Фридрих Вильгельм принял их в своих владениях. Их род вели многие, и в их числе был поэт Теодор "
    "Фонтен, а не только они."
)


def test_names_of_other_languages() -> None:
    assert detect_language(RUSSIAN.split()) == "ru"
    assert (detect_language(["щука"]), detect_language(["pike"])) == ("", "en")
    assert {"Фридрих Вильгельм", "Теодор Фонтен"} <= set(labels(RUSSIAN))


NIGHT = "È nella città, e con la {} non si va, ma si vede nella {} per tutta la notte."


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("rete neuronale", "casa"), []),
        (("rete neuronale", "rete neuronale"), ["rete neuronale"]),
        (("rete", "rete"), []),
    ],
)
def test_unsure_phrases_and_words_need_several_mentions(names: tuple[str, str], found: list[str]) -> None:
    assert labels(NIGHT.format(*names)) == found


FLOORS = {
    ("held-out", "all"): (0.84, 0.72),
    ("held-out", "en"): (0.84, 0.73),
    ("held-out", "de"): (0.78, 0.73),
    ("held-out", "es"): (0.86, 0.63),
    ("tuning", "all"): (0.83, 0.81),
}
"""Minimum precision and recall. The measured values are slightly higher
(benchmarks/results/concepts.md)."""


def test_precision_and_recall_do_not_decrease() -> None:
    found = defaultdict[tuple[str, str], Score](Score)
    for document in read_gold(GOLD):
        total = sum((each.score for each in score(document, PER_SOURCE["keyphrase"])), Score())
        for group in groups(document):
            found[document.about["half"], group] += total
    for part, (precision, recall) in FLOORS.items():
        assert (found[part].precision >= precision, found[part].recall >= recall) == (True, True), part


def concept(text: str, label: str) -> tuple[str, ...]:
    return next(each.forms for each in extract(sources(text), 20)[0].concepts if each.label == label)


def test_code_name_and_plain_form_are_one_concept() -> None:
    text = "An exception group holds others. Raise an `ExceptionGroup` here; `ExceptionGroup` is new."
    assert concept(text, "exception group") == ("ExceptionGroup",)
    assert "tempfile.TemporaryDirectory" in labels("Use `tempfile.TemporaryDirectory` and it goes.")
    assert {"__exit__", "PYTHONHOME"} <= set(
        labels("Of these, `__exit__` is called, and `PYTHONHOME` is read.")
    )


SAID = "the Silver Harbour engine keeps a worker lease for Carla Jones"
FOUND = {"Silver Harbour engine", "worker lease", "Carla Jones"}
CODE = [f"{SAID} and renews it", f"then {SAID}"]


def lines(before: str = "") -> str:
    return "".join(f"{before}{line}\n" for line in CODE)


BLOCKS: list[tuple[Format, str]] = [
    ("markdown", f"```\n{lines()}```\n"),
    ("markdown", f"~~~~ python\n{lines()}```\n{lines()}~~~~\n"),
    ("markdown", f"```\n{lines()}\n\n{lines()}"),
    ("markdown", lines("    ")),
    ("markdown", lines("\t")),
    ("markdown", f"- An item:\n\n  ```\n{lines('  ')}  ```\n"),
    ("markdown", f"- An item:\n\n{lines('      ')}"),
    ("markdown", f"> ```\n{lines('> ')}> ```\n"),
    ("markdown", f"<pre><code>\n{lines()}\n{lines()}</code></pre>\n"),
    ("markdown", f"<div>\n<PRE>\n{lines('  ')}</PRE>\n</div>\n"),
    ("markdown", f"<script>\n{lines()}\n{lines()}</script>\n"),
    ("rst", f"Such as::\n\n{lines('    ')}\n"),
    ("rst", f"::\n\n{lines('  ')}\n{lines('     ')}"),
    ("rst", f".. code-block:: python\n   :caption: x\n\n{lines('   ')}\n{lines('   ')}"),
    ("rst", f"- An item::\n\n{lines('    ')}"),
    ("rst", f">>> {CODE[0]}\n{CODE[1]}\n"),
    ("rst", f".. note::\n\n   Such as::\n\n{lines('       ')}"),
    ("rst", f"..\n{lines('   ')}"),
]
LINES: list[tuple[Format, str]] = [
    ("markdown", f"Said <code>{SAID}</code> and `{SAID}`.\n"),
    ("rst", f"Said ``{SAID}``.\n"),
]


@pytest.mark.parametrize(("form", "text"), [*BLOCKS, *LINES])
def test_code_yields_no_concepts(form: Format, text: str) -> None:
    assert labels(text, form=form) == []
    around = labels(f"Here {SAID}.\n\n{text}", form=form)
    assert set(around) >= FOUND, "the same words beside it do"
    assert set(labels(f"with them {SAID}:")) >= FOUND, "the line is code only in a program"


PROGRAM = f"""import os

if os.environ:
    from worker import Emma Ross

# Dora Miles keeps a worker lease.
def renew(frida_kahn, options=None):
    # Here {SAID}.
    if worker lease then the Jane Moss engine:
        renew(Greta Olsen, [Hanna Berg], {{Ida Falk: 1}})
"""


@pytest.mark.parametrize("name", ["worker.py", "worker.toml", "worker.log"])
def test_of_a_program_the_comments_are_read(name: str) -> None:
    record, _ = to_record(Incoming("notes", name, PROGRAM))
    assert {block.kind for source in record.sources for block in source.blocks} == {"program"}
    found = {concept.label for each in extract(texts(record), 20) for concept in each.concepts}
    assert found >= FOUND | {"Dora Miles"}
    assert not found & {"Emma Ross", "Greta Olsen", "Hanna Berg", "Ida Falk", "Jane Moss"}


def texts(record: DocumentRecord) -> Sequence[SourceText]:
    return [
        SourceText(
            each.source_id,
            record.document_id,
            each.paragraph,
            each.heading,
            each.start,
            each.full_text,
            each.content_hash,
            each.blocks,
        )
        for each in record.sources
    ]
