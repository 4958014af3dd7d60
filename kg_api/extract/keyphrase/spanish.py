"""Noun phrases of Spanish: a noun behind an article or a preposition, adjectives, "de" with another noun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kg_api.extract.keyphrase.background import is_rare
from kg_api.extract.keyphrase.lists import lists
from kg_api.extract.keyphrase.phrases import Candidate
from kg_api.extract.keyphrase.words import Token, stop_words

_MIN_LETTERS = 3
_MAX_WORDS = 5
_ARTICLES = frozenset("el la los las un una al del su sus".split())  # noqa: SIM905
_PRONOUNS = frozenset({"la", "los", "las"})
"""Articles that are objects before a verb."""
_INFINITIVE = re.compile(r"[aeií]r(?:se|l[aeo]s?)?$")
_VERB = re.compile(r"(?:[aeo]n|r[oá]n|aba|ía|ó|ará|erá|irá|aría)$")
_ADJECTIVE = re.compile(
    r"(?:al|ar|iv[oa]|ic[oa]|os[oa]|ad[oa]|id[oa]|ari[oa]|ori[oa]|bl|ant|ient|ent|an[oa]|n[oa]|e[oa]|il|dor[a]?)(?:e?s)?$"
    r"|(?:bl|ant|ent)es?$"
)
_AGREEING = re.compile(r"(?:o|a|os|as)$")


def spanish_phrases(sentence: Sequence[Token]) -> Iterator[Candidate]:
    """Give the noun phrases of a sentence in small letters, none within another, in order."""
    at = 1
    while at < len(sentence):
        end = _phrase_end(sentence, at) if _is_noun(sentence, at) else at
        if end > at:
            words = tuple(sentence[at:end])
            yield Candidate(
                words, is_sure=len(words) > 1 or is_rare(sentence[at].text, "es"), is_typical=True
            )
        at = max(end, at + 1)


def _phrase_end(sentence: Sequence[Token], at: int) -> int:
    end = _behind_adjectives(sentence, at)
    while (
        end + 1 < len(sentence)
        and end - at + 2 <= _MAX_WORDS
        and sentence[end].text == "de"
        and _is_noun(sentence, end + 1)
    ):
        end = _behind_adjectives(sentence, end + 1)
    if sentence[at].text in lists().es_heads and end > at:
        return at
    return end


def _behind_adjectives(sentence: Sequence[Token], noun: int) -> int:
    """The place behind a noun and the adjective that may follow it."""
    at = noun + 1
    return at + 1 if at < len(sentence) and _is_adjective(sentence, noun) else at


def _is_noun(sentence: Sequence[Token], at: int) -> bool:
    said, before = sentence[at].text, sentence[at - 1].text.casefold()
    if not _is_small(sentence[at]) or before not in lists().es_openers:
        return False
    if before in _PRONOUNS and _VERB.search(said) and _is_object(sentence, at):
        return False
    return before in _ARTICLES or not _INFINITIVE.search(said)


def _is_object(sentence: Sequence[Token], at: int) -> bool:
    """Whether what stands before a word is no article but its object, as in "la empeoran"."""
    behind = sentence[at + 1].text if at + 1 < len(sentence) else "."
    return not behind.isalpha() or behind in lists().es_objects


def _is_adjective(sentence: Sequence[Token], noun: int) -> bool:
    token, said = sentence[noun + 1], sentence[noun].text
    if not _is_small(token) or _VERB.search(token.text):
        return False
    ending = _AGREEING.search(token.text)
    agrees = ending is None or (token.text.endswith("s") == said.endswith("s"))
    if _ADJECTIVE.search(token.text) and agrees:
        return not _takes_object(sentence, noun + 1)
    return bool(ending) and _ending(said) == _ending(token.text) and not _takes_object(sentence, noun + 1)


def _takes_object(sentence: Sequence[Token], at: int) -> bool:
    """Whether a word in -a or -e is a verb by what follows it: "confirma el", not "roja."."""
    behind = sentence[at + 1].text if at + 1 < len(sentence) else "."
    return sentence[at].text.endswith(("a", "e")) and (behind in lists().es_objects or behind[0].isdigit())


def _ending(said: str) -> str:
    found = _AGREEING.search(said)
    return found[0] if found else ""


def _is_small(token: Token) -> bool:
    said = token.text
    if said.endswith("mente"):
        return False
    return token.is_word and said.islower() and len(said) >= _MIN_LETTERS and said not in stop_words("es")
