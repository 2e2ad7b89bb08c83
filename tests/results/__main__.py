"""Makes the pages of docs/results/: `make results`, or `python -m tests.results [PAGE ...]`.

A study is run, or resumed, if nothing is kept of it, or if its page's source names other commands than made it. Then
the page is written from what is kept. A page with a claim that does not hold any more is not written: what is kept is
new, so the sentence is corrected in the source, and making the page again takes seconds.
"""

import argparse
import hashlib
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import NamedCorpus
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import is_finished, last_ablation, read_study
from tests.pages import ROOT
from tests.results import windows
from tests.results.inspected import Inspected, inspect
from tests.results.kept import Kept, keep
from tests.results.page import Rendered, render
from tests.results.sized import count
from tests.results.source import Source, find_source, sources

PROGRAM = Path(sys.executable).with_name("skipstack")


def make(source: Source, runs: Path, *, by_this_version: bool = False) -> None:
    """Run what must be run for a page, keep it, and write the page.

    ``by_this_version``: what is kept of an earlier version is run again, too.
    """
    for study in source.studies:
        if not is_kept(source, study, by_this_version=by_this_version):
            folder = runs / source.name / f"{version('skipstack')}-{digest(source, study)}"
            run(source, study, folder)
            keep(folder / study, Kept(source.data(study)), source.script(study))
            if study in source.inspected:
                source.watched(study).write_bytes(inspect(folder / study, source.inspected[study]))
            source.sizes(study).unlink(missing_ok=True)
        if study in source.sized and not source.sizes(study).exists():
            source.sizes(study).write_text(count(Kept(source.data(study))))
    write(source, render(source))


def is_kept(source: Source, study: str, *, by_this_version: bool = False) -> bool:
    """Whether the study is kept that the source's commands make, and what the networks did that the source names."""
    if not source.data(study).exists():
        return False
    if study in source.inspected and not is_watched(source, study):
        return False
    kept = Kept(source.data(study))
    of_this = not by_this_version or kept.version == version("skipstack")
    return of_this and kept.commands == source.script(study)


def is_watched(source: Source, study: str) -> bool:
    """Whether what is kept of networks is of exactly the trials that the source names."""
    file = source.watched(study)
    return file.exists() and Inspected(file).trials == source.inspected[study]


def digest(source: Source, study: str) -> str:
    """What tells apart the folders of studies that other commands made."""
    return hashlib.sha256("\n".join(source.studies[study]).encode()).hexdigest()[:8]


def run(source: Source, study: str, folder: Path) -> None:
    """Run the commands that make a study, each that was not run yet; what was interrupted is resumed first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, corpus in source.windows.items():
        if not (folder / name).exists():
            windows.write(NamedCorpus(name=corpus), folder / name)
    path = folder / study
    for number, arguments in enumerate(source.commands(study)):
        if path.exists() and (not is_finished(path) or _may_go_on(path)):
            skipstack(folder, "resume", study)
        if number >= done(path):
            skipstack(folder, *arguments)


def _may_go_on(path: Path) -> bool:
    """Whether an ablation was interrupted, or might train further seeds."""
    last = last_ablation(path)
    return last is not None and (last.is_interrupted or last.may_go_on)


def done(path: Path) -> int:
    """How many commands a study was made with. An ablation of several parts is one command."""
    if not path.exists():
        return 0
    extensions = sum(1 for _ in Ledger(StudyFolder.existing(path).ledger).extensions())
    plans = [own.plan for own in read_study(path).ablations.values()]
    return 1 + extensions + sum(plan is None or (plan.continues is None and plan.arm is None) for plan in plans)


def skipstack(folder: Path, *arguments: str) -> None:
    """Run a command in this folder. Raises UserError if it fails."""
    ended = subprocess.run([PROGRAM, *arguments], cwd=folder, check=False)
    if ended.returncode:
        raise UserError(f"`skipstack {shlex.join(arguments)}` ended with {ended.returncode}; the same command goes on")


def write(source: Source, made: Rendered) -> None:
    """Write a page and its pictures."""
    source.page.write_text(made.text)
    for name, svg in made.pictures.items():
        (source.folder / name).write_text(svg)


def main(arguments: Sequence[str]) -> int:
    """Make the pages that are named, or all. Exit 2 if one cannot be made; the others are."""
    parser = argparse.ArgumentParser(prog="python -m tests.results", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="by name, as distance; left out: all")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "results", help="where studies are run")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--kept", action="store_true", help="run nothing: write what can be written from what is kept")
    how.add_argument("--by-this-version", action="store_true", help="also run what an earlier version ran")
    asked = parser.parse_args(arguments)
    try:
        wanted = [find_source(name) for name in asked.pages] if asked.pages else sources()
    except UserError as error:
        parser.error(str(error))
    failed = 0
    for source in wanted:
        try:
            if asked.kept:
                write(source, render(source))
            else:
                make(source, asked.runs, by_this_version=asked.by_this_version)
        except UserError as error:
            failed += 1
            print(error, file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
