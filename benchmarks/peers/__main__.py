"""kg beside neo4j-graphrag, langchain-neo4j and llama-index, each at its documented best.

    python -m venv V; V/bin/pip install -r benchmarks/peers/requirements.txt
    python -m benchmarks.peers FOLDER --peers-python V/bin/python --sets SET SET

Each contestant has a fresh Neo4j of the same version and settings (kg's managed one) to itself, so that none
profits from what another has warmed, and memory is its own. The others run in the process that asks, as they
are used, with kg's service, worker and supervisor stopped (SIGSTOP) meanwhile; kg is asked over REST. All
embed by kg's embedder.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import numpy as np
import psutil

from benchmarks.peers.contestants import CONTESTANTS, STORED_BY_KG
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import JOB, REPORT, Corpus, Job, Pace, Place, Report
from benchmarks.peers.measure import AGAIN, ALONE
from benchmarks.peers.quality import quality
from benchmarks.peers.report import aims, as_json, show
from benchmarks.peers.texts import folder_passages, judged, word_questions
from benchmarks.stack import Stack, machine, stack
from kg_api.providers.model_files import find_model
from kg_api.schemas.vocabulary import Tier
from kg_api.settings import load_settings

ROOT = Path(__file__).parents[2]
REQUIREMENTS = "benchmarks/peers/requirements.txt"
SAME = ("onnxruntime", "tokenizers", "numpy")
"""What the embedder runs on; with other versions it would not be the same."""
MOST_NEW, MOST_GIVEN = 400, 600
"""Searches a second that there are questions for."""


def main() -> None:
    """Run it and print one JSON object; a table goes to stderr."""
    chosen = _chosen()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was stopped goes on and ends
    if not STORED_BY_KG.issuperset(chosen.contestants):
        _require_peers(chosen.peers_python)
    model, spec = find_model(load_settings())
    embedder = SameEmbedder(model, spec)
    timed, vectors = _timed(chosen, embedder)
    sets = [judged(at, folder, chosen.tier) for at, folder in enumerate(chosen.sets, 1)]
    corpora = [timed, *(each.corpus for each in sets)]
    place = Place("", "", "", Path(), model, spec)
    plan = Job("", place, Pace(chosen.clients, chosen.seconds), corpora, {})
    reports = {
        name: _kept(replace(plan, contestant=name), vectors, chosen.peers_python, chosen.keep)
        for name in chosen.contestants
    }
    found = quality(reports, sets)
    told = {"contestants": as_json(reports), "ndcg@10": found, "aims": aims(reports, found, chosen.clients)}
    print(json.dumps({"machine": machine(), "model": spec.name, **told}, indent=1))
    show(reports, found)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="Files whose passages are taken in and searched for speed.")
    parser.add_argument("--sets", type=Path, nargs="*", default=[], help="Question sets, for the quality.")
    parser.add_argument("--tier", choices=get_args(Tier), default="standard", help="Questions of each set.")
    parser.add_argument("--peers-python", type=Path, default=Path(sys.executable))
    parser.add_argument("--contestants", nargs="+", choices=[*CONTESTANTS], default=[*CONTESTANTS])
    parser.add_argument("--passages", type=int, default=4000)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument(
        "--keep", type=Path, help="A folder for each one's report; what lies there is not repeated."
    )
    parser.add_argument("--seconds", type=float, default=15, help="Of each phase with several clients.")
    return parser.parse_args()


def _require_peers(python: Path) -> None:
    """End with one line where the others are missing, or would embed with other versions."""
    wanted = {name: version(name) for name in SAME}
    code = (
        "import json, importlib.metadata as m, neo4j_graphrag, langchain_neo4j, psutil;"
        "import llama_index.vector_stores.neo4jvector, pydantic_settings, filelock, tenacity;"
        f"print(json.dumps({{name: m.version(name) for name in {SAME!r}}}))"
    )
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    if done.returncode or json.loads(done.stdout) != wanted:
        pins = " ".join(f"{name}=={number}" for name, number in wanted.items())
        raise SystemExit(
            f"{python} lacks what kg is compared with, or has another {', '.join(SAME)} than kg: "
            f"python3 -m venv V && V/bin/pip install -r {REQUIREMENTS} {pins}, then "
            f"--peers-python V/bin/python; or --contestants kg floor"
        )


def _timed(chosen: argparse.Namespace, embedder: SameEmbedder) -> tuple[Corpus, np.ndarray[Any, Any]]:
    """What is searched for speed, all of it read whole by the model; vectors of the last questions."""
    found = folder_passages(chosen.folder, chosen.passages)
    passages = [each for each in found if not embedder.is_cut(each.text)]
    new, given = (AGAIN + ALONE + int(rate * chosen.seconds) for rate in (MOST_NEW, MOST_GIVEN))
    words = word_questions(passages, AGAIN + new + given)
    if len(words) < AGAIN + new + given:
        raise SystemExit(
            "there are too few passages for so many new questions; take more, or fewer --seconds"
        )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        vectors = np.array(list(pool.map(embedder.question, words[-given:])))
    name = "-".join(chosen.folder.resolve().parts[-2:])
    return Corpus(0, name, passages, words=words), vectors


def _kept(job: Job, vectors: np.ndarray[Any, Any], peers_python: Path, keep: Path | None) -> Report:
    """Of a run that was interrupted, with the same arguments; or measured now, and shown at once."""
    file = keep / f"{job.contestant}.json" if keep else None
    if file and file.exists():
        return REPORT.validate_json(file.read_bytes())
    report = _measure(job, vectors, peers_python)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(REPORT.dump_json(report))
    show({job.contestant: report}, {})
    return report


def _measure(job: Job, vectors: np.ndarray[Any, Any], peers_python: Path) -> Report:
    """One contestant, on a Neo4j of its own."""
    print(f"{job.contestant} ...", file=sys.stderr, flush=True)
    python = Path(sys.executable) if job.contestant in STORED_BY_KG else peers_python
    with stack() as running, tempfile.TemporaryDirectory() as name:
        folder, home = Path(name), running.home
        place = replace(
            job.place,
            bolt=home.build_bolt_uri() or "",
            password=home.read_password() or "",
            api_url=home.build_api_url() or "",
            home=home.path,
        )
        with _processes(running, job.contestant) as processes:
            (folder / "job.json").write_bytes(JOB.dump_json(replace(job, place=place, processes=processes)))
            np.save(folder / "vectors.npy", vectors)
            command = [str(python), "-m", "benchmarks.peers.measure", str(folder)]
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=sys.stderr)
        return REPORT.validate_json((folder / "result.json").read_bytes())


@contextmanager
def _processes(running: Stack, contestant: str) -> Generator[dict[str, int]]:
    """Those that a contestant uses, by role; what it does not use of kg stands still meanwhile."""
    pids = running.pids()
    if contestant in STORED_BY_KG:
        yield pids
        return
    idle = [psutil.Process(pid) for pid in (running.status()["supervisor_pid"], pids["api"], pids["worker"])]
    idle += [child for each in idle[1:] for child in each.children(recursive=True)]
    try:
        for each in idle:
            each.suspend()
        yield {"neo4j": pids["neo4j"]}
    finally:
        for each in reversed(idle):
            each.resume()


if __name__ == "__main__":
    main()
