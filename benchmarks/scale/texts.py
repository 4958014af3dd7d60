"""Any number of documents of passages that read naturally, each made of two real passages of one document."""

from __future__ import annotations

import random
import re
from itertools import accumulate
from pathlib import Path

from benchmarks.scale.seeds import Seeds

PASSAGES_A_DOCUMENT = 80
PASSAGES_A_SECTION = 10
NEAR = 3
"""So far apart two passages may stand that are mixed."""
MOST_WORDS = 110
ONTOLOGIES = {"large": 89, "tenth": 10, "hundredth": 1}
"""Of a hundred documents; the small ones are what filters ask for."""
NAMES = (
    "Anna",
    "Bruno",
    "Chen",
    "Dora",
    "Elif",
    "Femi",
    "Greta",
    "Hugo",
    "Ines",
    "Jomo",
    "Kaya",
    "Liam",
    "Mina",
)
FAMILIES = (
    "Novak",
    "Okafor",
    "Silva",
    "Tanaka",
    "Ursu",
    "Vargas",
    "Weber",
    "Yilmaz",
    "Zhou",
    "Abbas",
    "Berg",
)
_NUMBER = re.compile(r"\d+")


class Texts:
    """Documents by number; the same number is always the same document."""

    def __init__(self, seeds: Seeds) -> None:
        self._documents = seeds.documents
        self._weights = list(accumulate(map(len, seeds.documents)))

    def write(self, folder: Path, numbers: range) -> None:
        """Write documents as Markdown files, one folder an ontology."""
        for number in numbers:
            place = folder / ontology_of(number)
            place.mkdir(parents=True, exist_ok=True)
            (place / name_of(number)).write_text(self.document(number), "utf-8")

    def document(self, number: int) -> str:
        """A document with its headings."""
        dice = random.Random(number)
        real = dice.choices(self._documents, cum_weights=self._weights)[0]
        parts = [f"# Collected notes, volume {number + 1}"]
        for at in range(PASSAGES_A_DOCUMENT):
            if at % PASSAGES_A_SECTION == 0:
                parts.append(f"## Part {at // PASSAGES_A_SECTION + 1}")
            parts.append(_passage(dice, real, number * PASSAGES_A_DOCUMENT + at))
        return "\n\n".join(parts) + "\n"


def documents_of(passages: int) -> int:
    """How many documents have so many passages."""
    return -(-passages // PASSAGES_A_DOCUMENT)


def name_of(number: int) -> str:
    """A document's file."""
    return f"volume-{number + 1:06}.md"


def ontology_of(number: int) -> str:
    """The ontology of a document: spread so that each is there from the first hundred on."""
    at = number * 37 % 100
    for name, share in ONTOLOGIES.items():
        if at < share:
            return name
        at -= share
    raise AssertionError("the shares make a hundred")


def _passage(dice: random.Random, real: list[list[str]], number: int) -> str:
    at = dice.randrange(len(real))
    near = [each for each in range(max(0, at - NEAR), min(len(real), at + NEAR + 1)) if each != at]
    first, second = real[at], real[dice.choice(near)]
    chosen = _some(dice, first, 2, len(first)) + _some(dice, second, 1, 3)
    while len(chosen) > 3 and sum(len(each.split()) for each in chosen) > MOST_WORDS:
        chosen.pop()
    varied = _NUMBER.sub(lambda found: _other(dice, found[0]), " ".join(chosen))
    who = f"{dice.choice(NAMES)} {dice.choice(FAMILIES)}"
    return f"{varied} Kept by {who} as note {number + 1}."


def _some(dice: random.Random, sentences: list[str], least: int, most: int) -> list[str]:
    """Some sentences in their order."""
    count = dice.randint(min(least, len(sentences)), min(most, len(sentences)))
    return [sentences[each] for each in sorted(dice.sample(range(len(sentences)), count))]


def _other(dice: random.Random, number: str) -> str:
    """Another number of as many digits."""
    return str(dice.randrange(10 ** (len(number) - 1), 10 ** len(number)))
