"""How kg asks a provider: again after failures, as fast as it says, and with errors that tell no secrets."""

from __future__ import annotations

import html
import random
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import structlog
import tenacity
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, InvalidInput, KgError, ModelUnavailable
from kg_api.metrics import meters

# Asking and waiting for a provider, as long as somebody waits for what is asked of it.

WaitedT = TypeVar("WaitedT")

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class Abandoned(Exception):
    """Nobody waits any more for what was to be asked; no fault of anybody."""


@contextmanager
def waiting_unless(given_up: threading.Event) -> Generator[None]:
    """Within, the calling thread's waits for a provider end as soon as the event is set."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


def wait(seconds: float) -> None:
    """Sleep.

    Raises:
        Abandoned: what the thread asks for is given up.
    """
    given_up = _given_up.get()
    if given_up is None:
        time.sleep(seconds)
    elif given_up.wait(seconds):
        raise Abandoned


def ask_at_once(questions: Iterable[Callable[[], WaitedT]], at_once: int) -> list[WaitedT]:
    """Ask so many questions at a time; give the answers in the order of the questions.

    None is begun any more when one has failed, or when what this thread asks for is given up: each may cost
    money. What was begun is waited for.

    Raises:
        Abandoned: it is given up.
        As the first of those that failed.
    """
    with ThreadPoolExecutor(at_once) as pool:
        asked = [pool.submit(copy_context().run, _ask, each) for each in questions]
        try:
            futures.wait(asked, return_when=futures.FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() for each in asked]  # what was cancelled stands behind what failed


def _ask(question: Callable[[], WaitedT]) -> WaitedT:
    wait(0)
    return question()


# The one way in which kg asks a provider again.

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")

MAX_WAIT_SECONDS = 60.0
"""Seconds. A provider that asks for a longer rest is given up at once: the job waits, not the process."""


class RetryableError(Exception):
    """A failure that may pass by itself. The message never holds a key or a text."""

    def __init__(self, reason: str, retry_after: float | None = None, *, is_limit: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the provider asked to be left alone, if it said so."""
        self.is_limit = is_limit or retry_after is not None
        """Whether the provider wants fewer or later requests, whatever they contain."""


GiveUp = Callable[[str, float | None], Exception]
"""Makes the error to raise from a reason and the seconds that the provider asked for."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits of 1, 2, 4, ... seconds and up to a quarter more, never shorter than the provider asks for."""

    tries: int = 3
    """In all: 3 tries have two waits between them, of 1 and 2 s."""
    first_wait: float = 1.0
    max_wait: float = MAX_WAIT_SECONDS
    jitter: float = 0.25
    """Share of a wait that is added at random, so that many workers do not come back at once."""
    sleep: Callable[[float], None] = wait
    clock: Callable[[], float] = time.monotonic

    def call(
        self,
        ask: Callable[[float | None], ResultT],
        give_up: GiveUp,
        until: float | None = None,
        *,
        kind: str = "other",
    ) -> ResultT:
        """Ask, and ask again after each `RetryableError`; any other error is final.

        Args:
            ask: is given the seconds left until the deadline, None without one.
            give_up: makes the error that is raised in the end.
            until: the deadline, by `clock`: no try begins later, and no wait goes beyond it.
            kind: what is asked, for /metrics.
        """
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(RetryableError),
            wait=self._wait,
            stop=lambda state: self._is_over(state, until),
            sleep=self.sleep,
            before_sleep=partial(_log_retry, kind),
            reraise=True,
        )
        try:
            return retrying(lambda: ask(None if until is None else max(until - self.clock(), 0.001)))
        except RetryableError as last:
            reason, asked = str(last), last.retry_after
        raise give_up(reason, asked)  # outside: what the provider's client holds stays out of the chain

    def _wait(self, state: tenacity.RetryCallState) -> float:
        usual = self.first_wait * 2 ** (state.attempt_number - 1)
        spread = random.uniform(0, self.jitter * usual)  # noqa: S311 - spreads retries, no secret
        return max(usual, _read_retry_after(state) or 0) + spread

    def _is_over(self, state: tenacity.RetryCallState, until: float | None) -> bool:
        too_long = (_read_retry_after(state) or 0) > self.max_wait
        too_late = until is not None and self.clock() + state.upcoming_sleep >= until
        return too_long or too_late or state.attempt_number >= self.tries


def _read_retry_after(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, RetryableError) else None


def _log_retry(kind: str, state: tenacity.RetryCallState) -> None:
    reason = str(state.outcome.exception()) if state.outcome else ""
    seconds = round(state.upcoming_sleep, 2)
    meters().providers.retry(kind)
    log.warning("asking again", reason=reason, tries=state.attempt_number, wait_seconds=seconds)


# Whom kg asks over HTTP, and in which errors those who ask learn that it failed.


class RejectedText(KgError):
    """A model does not take a text, or answers with nothing usable; the reason is its message."""


@dataclass(frozen=True, slots=True)
class Service:
    """What providers of one kind do: embed, write, rerank."""

    kind: str
    """What it does, for /metrics and traces: `embed`, `image`, `llm` or `rerank`."""
    name: str
    """What does it, with its article: `an embedding service`."""
    subject: str
    """Who fails in messages: `the language model`."""
    rejection: str
    """What is rejected and what to do about it; `{model}` stands for the model's name in brackets."""
    unavailable: type[ModelUnavailable]
    """It does not answer, after all tries."""
    unusable: type[KgError]
    """It answers, but not as such a service does."""
    rejected: type[KgError] = InvalidInput
    """It does not take what it was sent."""
    misconfigured: type[KgError] = ConfigurationError
    """The key, the model or the address is wrong."""

    def give_up(self, reason: str, retry_after: float | None) -> ModelUnavailable:
        """The error after the last try, from its reason and the seconds that the provider asked for."""
        rest = f"; it asks to be left alone for {retry_after:.0f} s" if retry_after else ""
        return self.unavailable(f"{self.subject} fails: {reason}{rest}", retry_after_seconds=retry_after)

    def own_error(self, failure: Exception) -> Exception:
        """A final failure in the class that this service's callers expect; any other as it is."""
        if isinstance(failure, RejectedText):
            return self.rejected(str(failure))
        return self.misconfigured(str(failure)) if isinstance(failure, ConfigurationError) else failure


class Variables(NamedTuple):
    """The settings that say whom kg asks, for messages."""

    model: str
    address: str
    key: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A model at an address, with its key."""

    service: Service
    variables: Variables
    model: str
    """Empty: the server's own."""
    address: str
    key: SecretStr | None

    @property
    def host(self) -> str:
        """The name of its host, without port and path."""
        return urlsplit(self.address).hostname or "unknown"

    @property
    def secret(self) -> str:
        """The key itself; empty where there is none."""
        return self.key.get_secret_value() if self.key else ""

    def too_large(self) -> KgError:
        """The error for a reply that is longer than any answer to what was asked."""
        return self.service.unusable(
            f"{self.address} sends far more than {self.service.name} answers; check {self.variables.address}"
        )

    def no_service(self) -> KgError:
        """The error for an answer that is not one of the service's protocol."""
        return self.service.unusable(
            f"{self.address} does not answer as {self.service.name} does; check {self.variables.address}"
        )


# A provider's own words, made fit for errors, logs and job records.
#
# Providers quote: a key that they do not take, a sentence that their filter refuses; with other blanks, in
# other case, or escaped as in JSON.

MAX_DETAIL = 300
QUOTED = 16
"""Letters and digits in a row that words share with what was sent when they quote it: three to four words."""
QUOTED_KEY = 8
"""The same of a key."""
_MAX_READ = 4000
"""Characters of a message that are looked at."""
_STRUCK = "***"
_KEY_LIKE = re.compile(r"\b(sk|nk|pk)-[\w*-]{6,}")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf])|([\"'/]))")
_APART = "\0"
_SHORT = 10 * QUOTED
"""Characters of a text that may have few letters."""
Span = tuple[int, int]


def redact(text: str, *, sent: Sequence[str], key: SecretStr | None = None) -> str:
    """A provider's words on one line, shortened, every quotation of what it was sent struck out."""
    words = " ".join(_unescape(text[:_MAX_READ]).split())
    letters, places = _letters(words)
    secret = key.get_secret_value() if key else ""
    quoted = [*_quotations(letters, sent, QUOTED), *_quotations(letters, [secret], QUOTED_KEY)]
    spans = [(places[start], places[end - 1] + 1) for start, end in quoted]
    short = [(places[start], places[end - 1] + 1) for start, end in _short(letters, sent)]
    struck = _without(words, [*spans, *(span for span in short if _widen(words, span) == span)])
    return _KEY_LIKE.sub(_STRUCK, struck)[:MAX_DETAIL]


def detail(text: str, *, sent: Sequence[str], key: SecretStr | None = None) -> str:
    """The same as the end of a sentence; empty when nothing is left."""
    words = redact(text, sent=sent, key=key)
    return f" ({words})" if any(map(str.isalnum, words)) else ""


def _quotations(letters: str, sent: Iterable[str], least: int) -> Iterator[Span]:
    """Where letters repeat a piece of what was sent."""
    whole = _APART.join(_letters(each)[0] for each in sent)
    for at in range(len(letters) - least + 1):
        if letters[at : at + least] in whole:
            yield at, at + least


def _short(letters: str, sent: Iterable[str]) -> Iterator[Span]:
    """Where letters repeat all of a text that is too short for a piece."""
    texts = {text for each in sent if len(each) < _SHORT and (text := _letters(each)[0])}
    for text in texts:
        if len(text) < QUOTED:
            yield from (found.span() for found in re.finditer(re.escape(text), letters))


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text, without case and accents, and the place of each."""
    found = [(each, at) for at, character in enumerate(text) for each in _plain(character)]
    return "".join(each for each, _ in found), [at for _, at in found]


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    return "".join(each for each in decomposed if each.isalnum())


def _without(text: str, spans: Sequence[Span]) -> str:
    """A text with some spans struck out, each with the whole words that it begins and ends in."""
    kept, at = list[str](), 0
    for start, end in _merge(text, spans):
        kept += [text[at:start], _STRUCK]
        at = end
    return "".join([*kept, text[at:]])


def _merge(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """In order, widened to whole words, those that touch as one."""
    open_span: Span | None = None
    for start, end in sorted(_widen(text, each) for each in spans):
        if open_span is not None and start <= open_span[1] + 1:
            open_span = (open_span[0], max(open_span[1], end))
            continue
        if open_span is not None:
            yield open_span
        open_span = (start, end)
    if open_span is not None:
        yield open_span


def _widen(text: str, span: Span) -> Span:
    start, end = span
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end


def _unescape(message: str) -> str:
    """What escapes of JSON, Python and HTML stand for."""
    plain = html.unescape(_ESCAPE.sub(_decode_escape, message))
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decode_escape(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        return chr(int(code, 16))
    return found[4] or " "


# What an HTTP status that is not success amounts to, for providers of every kind; ADR 0036 says why.

_RETRYABLE = {408, 409, 425, 429, 499}
"""Time-out, busy, too early, limit, cancelled."""
_SERVERS_OWN = 500
_NEVER_WORKS = {501, 505}
_REJECTED = {400, 413, 422, 424}
"""424 is TEI's failed inference of what it was sent: a job finds the text by halving, and asks whether the
model works at all before it sets that text aside."""
_REASONS = {429: "limit", **dict.fromkeys((401, 403, 498), "key"), 402: "account", 404: "not_found"}
_SETTINGS = {"model", "dimensions", "encoding_format"}
"""Parameters of a request that settings decide, not texts."""
_WITHOUT_PATH = " ({address} has no path: many servers need one, such as /v1)"
_CODE = re.compile(r"[a-z_]{1,40}")
_A_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An HTTP status that is not success, and what came with it."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    message: str = ""
    """The provider's own words; they may repeat a key or a text."""
    code: str = ""
    parameter: str = ""
    """Which part of the request was wrong, if it says so."""

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: object) -> ErrorReply:
        """Find a provider's words in a parsed body: in `error`, as OpenAI and Jina say it, or beside it."""
        error = fields_of(body).get("error")
        fields = fields_of(error) or fields_of(body)
        said = error if isinstance(error, str) else fields.get("message") or fields.get("detail") or ""
        codes = (fields.get("code"), fields.get("type"))
        return cls(
            status,
            {name.lower(): value for name, value in headers.items()},
            str(said),
            next((code for code in codes if isinstance(code, str)), ""),
            str(fields.get("param") or ""),
        )


def classify(
    reply: ErrorReply, provider: Provider, sent: Sequence[str]
) -> RetryableError | RejectedText | ConfigurationError:
    """Give the error that a reply amounts to; a final one says what to do.

    - 408, 409, 425, 429, 499, 5xx: it may work later.
    - 401, 403, 498: the key; never repeated, and neither are the provider's words, which may hold it.
    - 402: the account; 404: the model or the address.
    - 400, 413, 422, 424: the texts, unless the reply blames the model or its dimensions.
    - Anything else: that is no such service.
    """
    code = f" {reply.code}" if _CODE.fullmatch(reply.code) else ""
    said = f"{provider.address} answered {reply.status}{code}"
    more = detail(reply.message, sent=sent, key=provider.key)
    if is_retryable(reply.status):
        is_limit = reply.status < _SERVERS_OWN
        return RetryableError(f"{said}{more}", retry_after(reply.headers), is_limit=is_limit)
    if reply.status in {401, 403, 498}:
        return ConfigurationError(
            f"{said}: it does not take the key; set {provider.variables.key} to a valid one"
        )
    if reply.status in _REJECTED and reply.parameter not in _SETTINGS:
        return RejectedText(f"{said}: {provider.service.rejection.format(model=_named(provider))}{more}")
    return ConfigurationError(f"{said}: {_what_to_correct(reply, provider)}{more}")


def _what_to_correct(reply: ErrorReply, provider: Provider) -> str:
    model, address, key = provider.variables
    match reply.status:
        case 402:
            return f"its account has no credit left; add some there, or set {key} to the key of another"
        case 404:
            hint = "" if urlsplit(provider.address).path.strip("/") else _WITHOUT_PATH.format(address=address)
            return f"there is no such model{_named(provider)} or address; correct {model} or {address}{hint}"
        case _ if reply.parameter in _SETTINGS:
            return f"it does not take this {reply.parameter}; correct {model} and what belongs to it"
        case _:
            return f"that is not {provider.service.name}; correct {address}"


def read_error_body(headers: Mapping[str, str], body: object) -> ErrorReply | None:
    """Read a reply of status 200 whose body is an error; None if the body is an answer.

    Proxies keep the status of their own success: the error's code counts, and without one the server failed.
    """
    fields = fields_of(body)
    error = fields.get("error")
    if not error or any(isinstance(each, list) for each in fields.values()):
        return None
    of_error = fields_of(error)
    codes = (str(each.get(name)) for each in (of_error, fields) for name in ("code", "status"))
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), None)
    if status is None:
        status = 400 if "invalid" in str(of_error.get("type")) else _SERVERS_OWN
    return ErrorReply.read(status, headers, body)


def fields_of(body: object) -> dict[str, object]:
    """The fields of parsed JSON; none where it is no object."""
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}


def reason_of(status: int) -> str:
    """Why a request failed, in one of a few words for /metrics."""
    if status in _REJECTED:
        return "rejected"
    return _REASONS.get(status) or ("server" if is_retryable(status) else "other")


def is_retryable(status: int) -> bool:
    """Whether an HTTP status tells of a failure that may pass by itself."""
    return status in _RETRYABLE or (status >= _SERVERS_OWN and status not in _NEVER_WORKS)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a reply's Retry-After asks for, as a number or as an HTTP date; at most a day.

    Returns:
        None without the header, or when it is neither.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
        return min(float(value), _A_DAY)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0), _A_DAY)


def _named(provider: Provider) -> str:
    return f" ({provider.model})" if provider.model else ""
