#!/usr/bin/env python3
"""Run the tasks of this repository. Needs only Python 3.11 or later and git.

python3 tasks.py run [FOLDER ...]        start kg, ingest its guides and the folders, search
python3 tasks.py test [PYTEST ...]       all checks and tests, as CI runs them
python3 tasks.py test PATH [PYTEST ...]  only the tests below a path, without the checks
python3 tasks.py check                   formatting, lint, types, imports, docker-compose.yml
python3 tasks.py full [PYTEST ...]       the full-size suites too
python3 tasks.py coverage [PYTEST ...]   the usual tests with coverage
python3 tasks.py docs                    write the reference pages of docs/
python3 tasks.py lock                    write requirements/*.txt from pyproject.toml
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / "bin"
OWN_ONTOLOGY, OWN_DOCUMENTS = "kg-docs", ("README.md", "docs/quickstart.md", "docs/guides")
QUESTIONS = ("keep a folder in sync", "how does an AI assistant connect to kg?")
"""The first has the words of its answer, because full-text search answers it before the embedding ends."""
TO_TRY = """
kg keeps running. Open {page} in a browser, or try:
  .venv/bin/kg ingest ~/notes --ontology notes --wait    your own files
  .venv/bin/kg search "how do I change the ranking?"       another question
  .venv/bin/kg down                                      stop, and keep the data\
"""
CHECKS = (
    ("ruff", "format", "--check", "--quiet"),
    ("ruff", "check", "--quiet"),
    ("lint-imports",),
    ("python", "docs/generate.py", "--check"),
    ("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"),
)
TYPES = "basedpyright"
"""The slowest check. It runs in parallel with the others."""
SEVERAL = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "loadfile", "--no-loadscope-reorder")
PROCESSES = () if "KG_TEST_NEO4J_URI" in os.environ else SEVERAL
"""Each test process runs its own Neo4j. One more than the cores, because some of them wait."""


def main(arguments: list[str]) -> int:
    """Run a task and return its exit code."""
    tasks = {task.__name__: task for task in (run, test, check, full, coverage, docs, lock)}
    name, *rest = arguments or ["help"]
    if sys.version_info < (3, 11):
        print(f"kg needs Python 3.11 or later; this is {sys.version.split()[0]}", file=sys.stderr)
        return 78
    if name not in tasks:
        known = name in {"help", "-h", "--help"}
        print(__doc__ if known else f"there is no task {name!r}\n\n{__doc__}")
        return 0 if known else 2
    try:
        tasks[name](rest)
    except subprocess.CalledProcessError as error:
        print(f"failed ({error.returncode}): {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return int(error.returncode)
    return 0


def run(folders: list[str]) -> None:
    """Run the main job: start, ingest, search by keywords, embed, search again."""
    if missing := [each for each in folders if not Path(each).exists()]:
        sys.exit(f"no such file or folder: {', '.join(missing)}")
    _prepare("runtime")
    corpora = [(OWN_ONTOLOGY, OWN_DOCUMENTS), *((Path(each).resolve().name, (each,)) for each in folders)]
    commands = [["up", "--no-open"]]  # the page is empty until the documents are there
    for question, wait in zip(QUESTIONS, ((), ("--wait",)), strict=True):
        for ontology, paths in corpora:  # unchanged files cost nothing: the second time only waits
            commands.append(["ingest", *paths, "--ontology", ontology, *wait])
        commands.append(["search", question, "--limit", "3"])
    words = [BIN / "python", "-m", "kg_cli.first_run", json.dumps(commands), TO_TRY]
    done = subprocess.run(words, cwd=ROOT, check=False)
    sys.exit(done.returncode)


def test(arguments: list[str]) -> None:
    """Run all checks and the usual tests, or only the tests of the paths among the arguments."""
    named = (ROOT / each.partition("::")[0] for each in arguments)
    paths = [path for path in named if path.exists()]
    if not paths:
        _check_and_test(*arguments)
        return
    _prepare("dev")
    if all(path.is_file() for path in paths):
        _tool("pytest", *arguments)  # further processes would take longer to start than most files take
    else:
        _pytest(*arguments)


def full(arguments: list[str]) -> None:
    """Run the full-size suites too."""
    size = ("-m", "full or not full", "--hypothesis-profile", "full", "--timeout", "5400")
    _check_and_test(*size, *arguments)


def coverage(arguments: list[str]) -> None:
    """Run the usual tests with coverage, also of the processes that they start."""
    _prepare("dev")
    _tool("coverage", "erase")
    _tool("coverage", "run", "-m", "pytest", *PROCESSES, *arguments)
    _tool("coverage", "combine", "--quiet")
    _tool("coverage", "report")


def check(_: list[str]) -> None:
    """Run all checks without tests."""
    _prepare("dev")
    with _beside(TYPES):
        for words in CHECKS:
            _tool(*words)


def docs(_: list[str]) -> None:
    """Write the reference pages from the code."""
    _prepare("dev")
    _tool("python", "docs/generate.py")


def lock(_: list[str]) -> None:
    """Write the hash-pinned requirements."""
    _prepare("dev")
    usual = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet")
    image = ("build", "communities", "eval", "openai", "rerank", "s3", "tracing")
    locks = {"dev": ("build", "dev"), "image": image, "runtime": ("build",)}
    every = "requirements/dev.txt"  # the first to be written: the others take its versions
    for name, extras in locks.items():
        chosen = [part for extra in extras for part in ("--extra", extra)]
        same = () if name == "dev" else ("--constraints", every, "--no-annotate")
        _tool(
            "uv", "pip", "compile", "pyproject.toml", *chosen, *usual, *same, "-o", f"requirements/{name}.txt"
        )


def _prepare(requirements: str) -> None:
    """Create the virtual environment and install the pinned packages, unless this is done."""
    wanted = ROOT / "requirements" / f"{requirements}.txt"
    stamp = ENVIRONMENT / f"installed-{requirements}"
    pinned = hashlib.sha256(wanted.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == pinned:
        return
    print(f"preparing {ENVIRONMENT.name} (once)", flush=True)
    if not (BIN / "python").exists():
        venv.create(ENVIRONMENT, with_pip=True)
    try:
        _install_by_uv(wanted)
    except subprocess.CalledProcessError:  # it reads no mirror or certificate from pip's configuration
        print("uv could not install the packages, so pip installs them, which takes longer", flush=True)
        _pip("--no-deps", "--require-hashes", "-r", str(wanted))
        _pip("--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(pinned)


def _install_by_uv(wanted: Path) -> None:
    """Install the pinned packages and kg in a third of pip's time."""
    pinned = (ROOT / "requirements" / "dev.txt").read_text()
    (block,) = re.findall(r"^uv==.+\n(?: .+\n)+", pinned, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        _pip("--no-deps", "--require-hashes", "--target", folder, "-r", "/dev/stdin", given=block)
        uv = f"{folder}/bin/uv"
        install = ("pip", "install", "--quiet", "--no-deps", "--python", str(BIN / "python"))
        _tool(uv, *install, "--require-hashes", "--compile-bytecode", "-r", str(wanted))
        _tool(uv, *install, "--no-build-isolation", "--editable", ".")


def _pip(*arguments: str, given: str | None = None) -> None:
    quiet = ("--disable-pip-version-check", "--quiet")
    _tool("python", "-m", "pip", "install", *quiet, *arguments, given=given)


def _check_and_test(*arguments: str) -> None:
    """Prepare the files that tests share between runs, and run all checks and tests.

    Checking the types takes a minute on one core, so the tests do not wait for it.
    """
    _prepare("dev")
    with _beside(TYPES):
        with _beside("python", "-m", "tests.support.prepare"):
            for words in CHECKS:
                _tool(*words)
        _pytest(*arguments)


def _pytest(*arguments: str) -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process of tests would compile all it imports
    _tool("pytest", *PROCESSES, *arguments)


@contextmanager
def _beside(name: str, *arguments: str) -> Generator[None]:
    """Run a tool in parallel. Always wait for it at the end, because it may have a server."""
    with subprocess.Popen([BIN / name, *arguments], cwd=ROOT) as running:
        yield
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, running.args)


def _tool(name: str, *arguments: str, given: str | None = None) -> None:
    subprocess.run([BIN / name, *arguments], cwd=ROOT, check=True, input=given, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
