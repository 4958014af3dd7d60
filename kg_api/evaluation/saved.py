"""Access to saved results: list, read, compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import scandir
from pathlib import Path
from threading import Lock
from typing import Final

from pydantic import BaseModel, ValidationError

from kg_api.errors import InvalidInput, NotFound, Unavailable
from kg_api.evaluation.scores import list_main_metrics
from kg_api.evaluation.sets import read_text_file
from kg_api.graph.reach import is_visible, resolve_ontology
from kg_api.schemas.evaluation import (
    RESULT_FORMAT,
    Comparison,
    EvalResult,
    EvalSummaries,
    EvalSummary,
    UnreadableResult,
)
from kg_api.suggestions import format_suggestion
from kg_api.wording import pluralize

MAX_COMPARED_QUESTIONS: Final = 12_500  # questions × results: some seconds of work


# Questions of results, sorted for inspection

LATENCY: Final = "ms"  # sort key other than metrics


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    query_id: str
    text: str | None  # None: an older kg did not save it
    scores: Mapping[str, float]
    ms: float | None


def sort_worst_first(result: EvalResult, by: str) -> list[ScoredQuestion]:
    """Sort the questions of a result, lowest score first, or slowest first for `ms`."""
    if by != LATENCY and by not in result.metrics:
        raise InvalidInput(f"unknown measure {by[:100]!r}. Choose one of: {', '.join(result.metrics)}")
    found = [
        ScoredQuestion(name, result.questions.get(name), scores, result.query_ms.get(name))
        for name, scores in result.per_query.items()
    ]
    if by == LATENCY:
        return sorted(found, key=lambda each: (-(each.ms or 0.0), each.query_id))
    return sorted(found, key=lambda each: (each.scores.get(by, 0.0), each.query_id))


# Saved result. Reading needs no packages of `kg[eval]`.


class _Form(BaseModel):
    format: int


def read_result(path: Path) -> EvalResult:
    text = read_text_file(path)
    try:
        return parse_result(text)
    except InvalidInput as error:
        raise InvalidInput(f"{path} {error}") from None


def parse_result(text: str) -> EvalResult:
    try:
        found = EvalResult.model_validate_json(text)
        form, problem = found.format, "" if found.metrics else "the result has no measures"
        if any(found.metrics.keys() - scores.keys() for scores in found.per_query.values()):
            problem = "a question lacks a measure"
    except ValidationError as error:
        first = error.errors()[0]
        found, problem = None, f"{first['msg']} ({first['loc']})"
        try:
            form = _Form.model_validate_json(text).format  # a newer kg may write other fields
        except ValidationError:
            form = RESULT_FORMAT
    if form > RESULT_FORMAT:
        raise InvalidInput("was written by a newer kg. Compare it with that version")
    if found is None or problem:
        raise InvalidInput(f"is not a result of `kg eval run`: {problem}")
    return found


def _summarise(name: str, result: EvalResult) -> EvalSummary:
    """Keep the main metrics, without scores of questions."""
    main = list_main_metrics(result.target, result.metrics) or list(result.metrics)[:1]
    return EvalSummary(
        name=_as_text(name),
        label=result.label,
        question_set=result.data.name,
        ontology=get_result_ontology(result),
        target=result.target,
        asked=result.data.asked,
        started_at=result.started_at,
        metrics={each: result.metrics[each] for each in main},
        intervals={each: result.intervals[each] for each in main if each in result.intervals},
        latency_ms=result.latency_ms,
        degraded=result.degraded,
    )


def get_result_ontology(result: EvalResult) -> str | None:
    """Return the queried ontology, or None. Such a result is visible only with access to all ontologies."""
    ontology = result.config.get("ontology")
    return ontology if isinstance(ontology, str) else None


def _as_text(name: str) -> str:
    """Replace undecodable characters of a file name. Such a result is listed, but cannot be requested."""
    return name.encode("utf-8", "replace").decode()


# Folder of results, limited to the visible ontologies

ENDING: Final = ".json"
MAX_BYTES: Final = 100_000_000  # maximum size of a file that is read: over 200,000 questions
MAX_NAME: Final = 300  # characters of an unknown name that are compared for a suggestion
MAX_UNREADABLE: Final = 100

Version = tuple[int, int]  # modification time and size of a file, to detect changes


@dataclass(frozen=True, slots=True)
class _File:
    """Cached content of a file: its summary, an error, or None if the file is no result."""

    version: Version
    about: EvalSummary | UnreadableResult | None


class SavedResults:
    """Results in a folder. Only files directly in the folder can be requested, by name."""

    def __init__(self, folder: Path) -> None:
        """Set the folder, which need not exist. The first request reads it."""
        self._folder = folder
        self._files: Mapping[str, _File] = {}
        self._reading = Lock()
        self._comparing = Lock()

    def list_results(self, ontology: str | None, offset: int, limit: int) -> EvalSummaries:
        """List the results of an ontology, or all visible ones, newest first."""
        ontologies = resolve_ontology(ontology)
        found, unreadable = list[EvalSummary](), list[UnreadableResult]()
        for each in self._read_changed_files().values():
            if isinstance(each.about, UnreadableResult):
                unreadable.append(each.about)
            elif each.about and (ontologies is None or each.about.ontology in ontologies):
                found.append(each.about)
        found.sort(key=lambda each: (each.started_at, each.name), reverse=True)
        unreadable.sort(key=lambda each: each.name)
        return EvalSummaries(
            evaluations=found[offset : offset + limit],
            unreadable=unreadable[:MAX_UNREADABLE] if is_visible(None) else [],
            total=len(found),
            offset=offset,
            limit=limit,
        )

    def find(self, name: str) -> EvalResult:
        return self._read(name, self._require_file(name))

    def compare(self, names: Sequence[str], against: str) -> Comparison:
        """Compare results with `comparing.compare`, one comparison at a time."""
        files = [(name, self._require_file(name)) for name in names]
        question_count = max(
            (each.about.asked for _, each in files if isinstance(each.about, EvalSummary)), default=0
        )
        if question_count * len(files) > MAX_COMPARED_QUESTIONS:  # it would keep the service busy for long
            raise InvalidInput(
                f"{pluralize(question_count, 'question')} of {pluralize(len(files), 'result')} are too many"
                " to compare here. Compare fewer results, or use `kg eval compare` on the command line"
            )
        if not self._comparing.acquire(blocking=False):
            raise Unavailable("another comparison is in progress. Try again in a few seconds")
        try:
            from kg_api.evaluation import comparing  # noqa: PLC0415 - scipy.stats takes 1 s and 60 MB

            found = comparing.compare([self._read(*each) for each in files], None, against)
        finally:
            self._comparing.release()
        return found.model_copy(update={"results": dict(zip(found.labels, names, strict=True))})

    def _require_file(self, name: str) -> _File:
        seen = dict[str, _File]()
        for each, known in self._read_changed_files().items():
            # a result without an ontology is visible only with access to all ontologies
            of = known.about.ontology if isinstance(known.about, EvalSummary) else None
            if known.about is not None and is_visible(of):
                seen[each] = known
        if name not in seen:
            raise _report_unknown_result(name, seen)
        return seen[name]

    def _read(self, name: str, known: _File) -> EvalResult:
        if isinstance(known.about, UnreadableResult):
            raise InvalidInput(f"{name} {known.about.reason}")
        try:
            found = parse_result(read_text_file(self._folder / f"{name}{ENDING}"))
        except InvalidInput:  # changed since it was listed
            raise NotFound(f"the result {name[:100]!r} was deleted or changed. Repeat the request") from None
        if not is_visible(get_result_ontology(found)):
            raise _report_unknown_result(name)
        return found

    def _read_changed_files(self) -> Mapping[str, _File]:
        """Return the files that may be results, and read changed ones again."""
        with self._reading:
            try:
                entries = list(scandir(self._folder))
            except FileNotFoundError:
                entries = []
            except OSError as error:
                raise InvalidInput(f"the folder of evaluations cannot be read: {error.strerror}") from None
            found: dict[str, _File] = {}
            for each in entries:  # symbolic links could leave the folder
                if each.name.endswith(ENDING) and each.is_file(follow_symlinks=False):
                    name, about = each.name.removesuffix(ENDING), each.stat(follow_symlinks=False)
                    version = (about.st_mtime_ns, about.st_size)
                    known = self._files.get(name)
                    if known is None or known.version != version:
                        known = _File(version, _read_summary(name, Path(each.path), about.st_size))
                    found[name] = known
            self._files = found
            return found


def _report_unknown_result(name: str, known: Iterable[str] = ()) -> NotFound:
    near = format_suggestion(name[:MAX_NAME], known)
    return NotFound(f"result {name[:100]!r} not found{near}. See the list of results")


def _read_summary(name: str, path: Path, size: int) -> EvalSummary | UnreadableResult | None:
    """Return the summary of a file, the error, or None for a comparison."""
    if size > MAX_BYTES:
        return UnreadableResult(name=_as_text(name), reason=f"has more than {MAX_BYTES:,} bytes")
    text = ""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return _summarise(name, parse_result(text))
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        reason = "is not UTF-8"
    except InvalidInput as error:
        reason = str(error)
        with suppress(ValidationError):  # `kg eval compare` saves comparisons in the same folder
            Comparison.model_validate_json(text)
            return None
    return UnreadableResult(name=_as_text(name), reason=reason)
