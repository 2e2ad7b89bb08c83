"""Exports trials of a study as bundles, and verifies bundles of networks on their corpus."""

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from skipstack.data.basis.atomic_files import refused_where_unwritable, temporary_folder_beside
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.saying import Say, unsaid
from skipstack.data.basis.user_code.configs import CodeFile
from skipstack.data.corpora.config import TokenVectors
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.token_vectors import store_token_vectors
from skipstack.data.store.vectors import open_vectors
from skipstack.data.store.writing import store
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.ground.device import choose_device
from skipstack.models.training.checkpoint import write_tensors
from skipstack.search.analysis.confirmation.confirmed import confirmed_scores
from skipstack.search.publishing.bundles.bundle import Metrics, load_bundle
from skipstack.search.publishing.bundles.card import model_card
from skipstack.search.publishing.bundles.corpus_folders import check_corpus, check_file
from skipstack.search.publishing.bundles.files import CARD, WEIGHTS, pack, seal, write_json
from skipstack.search.publishing.bundles.members import Members, left_by
from skipstack.search.publishing.bundles.own_export import check_model, fill_own
from skipstack.search.publishing.bundles.retraining import both_splits, retrained
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord

ARCHIVE = ".zip"
"""The suffix of a path to which a zip archive is exported instead of a folder."""

ROUNDING = 1e-5
"""The relative difference up to which perplexities count as equal, since processors round differently."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """Options for exporting a trial.

    ``retrain``: whether to train the network again on the training split and dev
    (``search/publishing/bundles/retraining.py``) instead of exporting the saved weights. ``epochs``: the number of
    epochs of the retraining; None means up to the best epoch. ``ensemble``: whether to export all seeds as an ensemble
    (``models/networks/ensemble.py``) instead of one seed. ``tell``: receives lines about the progress of the
    retraining.

    Raises UserError for ``epochs`` without ``retrain``.
    """

    retrain: bool = False
    epochs: int | None = None
    ensemble: bool = False
    tell: Say = unsaid

    def __post_init__(self) -> None:
        if self.epochs is not None and not self.retrain:
            raise UserError(f"--epochs: got {self.epochs} without --retrain (allowed: with it)")

    @property
    def suffix(self) -> str:
        """A suffix that gives different names to a trial's exports by different recipes."""
        epochs = "" if self.epochs is None else f"-{self.epochs}"
        return f"/retrained{epochs}" * self.retrain + "/ensemble" * self.ensemble


AS_LEFT = Recipe()
"""The default: export the saved weights of the trial's best seed."""


def chosen_trials(
    record: StudyRecord, *, best: int | None, trial: int | None, pareto: bool = False
) -> list[TrialRecord]:
    """Select the trials to export: the ``best`` highest-ranked trials, the trial with the number ``trial``, or the
    trials on the Pareto front (``pareto``). By default, the best trial is selected.

    Raises UserError if more than one of the three is given, if fewer trials have a score than are asked for, and for
    ``pareto`` in a study of one objective.
    """
    given = {"--best": best is not None, "--trial": trial is not None, "--pareto": pareto}
    asked = [option for option, is_given in given.items() if is_given]
    if len(asked) > 1:
        raise UserError(f"{' and '.join(asked)} exclude each other (allowed: one of them)")
    if pareto and len(record.study.search.objectives) == 1:
        raise UserError("--pareto: got a study of one objective, which has no front (allowed: --best N, or --trial N)")
    if pareto and record.ranked():
        return record.front()
    if trial is None:
        chosen = [record.best, *record.ranked()[1 : best or 1]]
        if best is not None and best > len(chosen):
            scored = counted(len(chosen), "trial")
            raise UserError(f"--best {best}: got {scored} with a score (allowed: 1 to {len(chosen)})")
        return chosen
    if trial not in record.trials or record.trials[trial].score is None:
        numbers = ", ".join(str(each.number) for each in sorted(record.ranked(), key=lambda each: each.number))
        raise UserError(f"--trial {trial}: no such trial with a score (allowed: {numbers or 'none yet'})")
    return [record.trials[trial]]


def code_of_trials(trials: Sequence[TrialRecord]) -> list[CodeFile]:
    """Return the distinct files of the user's own code that the networks of ``trials`` need."""
    return list(dict.fromkeys(file for trial in trials for file in trial.config.network_code))


def export_bundles(
    record: StudyRecord,
    folder: StudyFolder,
    trials: Sequence[TrialRecord],
    to: Path,
    device: str,
    *,
    recipe: Recipe = AS_LEFT,
) -> list[Path]:
    """Export ``trials``, as ``chosen_trials`` returns them, and return the paths of their bundles. If any bundle cannot
    be written, none is written.

    ``to``: the path of the bundle; for several trials, the path of the folder for their bundles. ``device``: where to
    compute. ``recipe``: how to export. Raises UserError as ``export_bundle`` does.
    """
    export = partial(export_bundle, record, folder, device=device, recipe=recipe)
    with refused_where_unwritable(to):
        if len(trials) == 1:
            return [export(trials[0], to)]
        names = [f"{rank:02d}-trial-{each.number}" for rank, each in enumerate(trials, 1)]
        for each, name in zip(trials, names, strict=True):
            _check_writable(record, folder, each, to / name, recipe)
        with temporary_folder_beside(to) as temporary:
            for each, name in zip(trials, names, strict=True):
                export(each, temporary / name)
            to.mkdir(parents=True, exist_ok=True)
            for name in names:
                os.replace(temporary / name, to / name)
    return [to / name for name in names]


def export_bundle(
    record: StudyRecord,
    folder: StudyFolder,
    trial: TrialRecord,
    to: Path,
    device: str,
    *,
    recipe: Recipe = AS_LEFT,
) -> Path:
    """Write the bundle of a trial to ``to``, a new folder or, if the name ends in .zip, a new archive. Returns ``to``.

    For a function, the bundle has the model that the function reported (``search/publishing/bundles/own_export.py``).
    For a network, the bundle has one lane (one seed's copy of the network) at the trial's best epoch. It is the lane
    with the best dev score. A retrained network has no dev score, so its first seed is exported. An ensemble has all
    lanes. A network's metrics are measured on the written bundle. The card has the metrics, and the config's scores
    that ablations of the study confirmed.

    Raises UserError if ``to`` exists, if the trial does not allow ``recipe``, or if needed weights were not kept.
    Raises it also as ``left_by``, ``retrained`` and ``check_model`` do.
    """
    _check_writable(record, folder, trial, to, recipe)
    with temporary_folder_beside(to) as temporary:
        if trial.config.keeps_weights:
            _fill(record, folder, trial, temporary, device, recipe)
        else:
            fill_own(record, folder, trial, temporary)
        made = temporary
        if to.suffix == ARCHIVE:
            pack(temporary, made := temporary / f"bundle{ARCHIVE}")
        os.replace(made, to)
    return to


def _fill(
    record: StudyRecord,
    folder: StudyFolder,
    trial: TrialRecord,
    to: Path,
    device: str,
    recipe: Recipe,
) -> None:
    """Write the bundle of a network into the folder ``to``."""
    if recipe.retrain:
        seeds = trial.seeds if recipe.ensemble else trial.seeds[:1]
        members = retrained(record, folder, trial, seeds, epochs=recipe.epochs, device=device, tell=recipe.tell)
    else:
        members = left_by(record, folder, trial, ensemble=recipe.ensemble)
    corpus = members.corpus
    write_json(to / "config.json", trial.config)
    (to / "vocabulary.json").write_text(corpus.vocabulary.to_json() + "\n", encoding="utf-8")
    write_json(to / "tags.json", corpus.stored.tags)
    write_json(to / "provenance.json", _provenance(record, trial, members))
    write_json(to / "metrics.json", {})
    (to / CARD).touch()
    write_tensors(to / WEIGHTS, members.weights_R, {})
    seal(to)
    bundle = load_bundle(to, choose_device(device))
    measured = replace(bundle, metrics=bundle.measure(corpus))
    write_json(to / "metrics.json", measured.metrics)
    card = model_card(
        measured,
        record.measure,
        scored=len(record.ranked()),
        searched=list(trial.dev.values()),
        confirmed=confirmed_scores(record, trial.config),
        given_epochs=recipe.epochs,
    )
    (to / CARD).write_text(card, encoding="utf-8")
    seal(to)


def _provenance(record: StudyRecord, trial: TrialRecord, members: Members) -> dict[str, Any]:
    """The content of the bundle's ``provenance.json``."""
    stored = members.corpus.stored
    provenance = {
        "study": record.study.name,
        "trial": trial.number,
        "config_identity": trial.config.identity,
        "seeds": members.seeds,
        "epochs": members.epochs,
        "trained_on": members.trained_on,
        "corpus_fingerprint": stored.fingerprint,
        "scheme": stored.scheme,
        "task": stored.task,
        "code_version": code_version(),
    }
    if (vectors := record.vectors_of(trial.config)) is not None:
        provenance["vectors_sha256"] = vectors.sha256
    return provenance


def _check_writable(record: StudyRecord, folder: StudyFolder, trial: TrialRecord, to: Path, recipe: Recipe) -> None:
    """Raise UserError if ``to`` exists. For a network, raise it also if deleted weights are needed, or if an ensemble
    would have one member. For a function, raise it also if no model was reported, or if ``recipe`` has an option for
    networks.
    """
    if to.exists():
        raise UserError(f"{to}: exists (allowed: a new folder or .zip for the bundle)")
    if not trial.config.keeps_weights:
        if recipe.suffix:
            option = "--retrain" if recipe.retrain else "--ensemble"
            raise UserError(f"{option}: {trial.config.title} is a function (allowed: a study that trains networks)")
        check_model(record, folder, trial)
        return
    if recipe.ensemble and len(trial.seeds) == 1:
        raise UserError(f"--ensemble: trial {trial.number} has one seed (allowed: a trial of two seeds or more)")
    if not recipe.retrain and not (folder.trial(trial.number) / BEST).exists():
        kept = [each.number for each in record.ranked() if (folder.trial(each.number) / BEST).exists()]
        raise UserError(
            f"trial {trial.number}: its weights were not kept (allowed: trials {', '.join(map(str, kept)) or 'none'}; "
            "search.keep_checkpoints and search.disk_budget say which are kept; or any, with --retrain)"
        )


def verify_bundle(
    path: Path, *, data_dir: Path | None, device: str, others: Sequence[Path] = (), code: Sequence[Path] = ()
) -> tuple[Measure, Metrics]:
    """Evaluate a bundle's network again on its corpus, and check that the metrics equal those in the bundle. Return
    the measure of the corpus, and the metrics.

    ``data_dir``: the folder with named corpora and the user's corpus files. None means the default data directory for
    named corpora, and the working directory for files. ``others``: further folders in which files with an absolute
    path, and vectors of tokens, may lie. ``code``: the files of the user's own code, for the network and for the format
    of the corpus. Raises UserError if a metric differs, if the corpus or its vocabulary differs from the one in
    training, and if the bundle names files outside all these folders.
    """
    bundle = load_bundle(path, choose_device(device), code, reads_corpus=True)
    with tempfile.TemporaryDirectory(prefix="skipstack-verify-") as scratch:
        data, folders = bundle.config.data, [data_dir or Path.cwd(), *others]
        check_corpus(path, data.corpus, folders)
        stored = open_store(store(data.corpus, root=Path(scratch), data_dir=data_dir, folder=folders[0]))
        if stored.fingerprint != bundle.provenance["corpus_fingerprint"]:
            expected = bundle.provenance["corpus_fingerprint"]
            raise UserError(f"{path}: got corpus {stored.fingerprint} (allowed: {expected}, which it was trained on)")
        vectors = None
        if isinstance(data.vectors, TokenVectors):
            holder = next((each for each in folders if (each / data.vectors.path).exists()), folders[0])
            file = check_file(path, "data.vectors", data.vectors.path, [holder, *folders])
            vectors = store_token_vectors(file, stored, root=Path(scratch))
        if bundle.provenance["trained_on"] == "train":
            found = None if vectors is None else open_vectors(vectors)
            corpus = prepare(stored, data, LONGEST_AFFIX, vectors=found)
        else:
            corpus = both_splits(stored, bundle.config, vectors)
        if corpus.vocabulary != bundle.vocabulary or corpus.stored.tags != bundle.tags:
            raise UserError(f"{path}: its vocabulary is not the one that its corpus gives")
        measured = bundle.measure(corpus)
    for split, counts in measured.items():
        if not _same(counts, bundle.metrics.get(split, {})):
            raise UserError(
                f"{path}: {split} gives {_counts(counts)}, its metrics say {_counts(bundle.metrics.get(split))}"
            )
    return TASKS[stored.task].measure(stored.scheme), measured


def _same(measured: Mapping[str, float], recorded: Mapping[str, float]) -> bool:
    """Whether metrics are equal: counts exactly, perplexities up to ``ROUNDING``."""
    return measured.keys() == recorded.keys() and all(
        math.isclose(value, recorded[name], rel_tol=ROUNDING) if isinstance(value, float) else value == recorded[name]
        for name, value in measured.items()
    )


def _counts(counts: Mapping[str, float] | None) -> str:
    if counts is None:
        return "nothing"
    tokens = f"{counts.get('correct')} of {counts.get('total')}"
    others = sorted(counts.keys() - {"correct", "total"})
    return ", ".join([tokens, *(f"{counts[name]} {name.replace('_', ' ')}" for name in others)])
