"""The class ``skipstack.Study``: a study's folder, progress and results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.parts import need
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration
    from skipstack.spaces.domains import Json


@final
class Study:
    """A study in its folder, as it was when this object was created; a notebook shows it by ``page``, if there is one.

    Frames have the columns of ``skipstack.search.analysis.frames.columns.COLUMNS``. Raises UserError where ``folder``
    holds no study, or one that is damaged.
    """

    def __init__(self, folder: str | Path, page: "Callable[[Study], str] | None" = None) -> None:
        from skipstack.search.analysis.study_frames import study_frames

        self.folder = Path(folder)
        self.frames = study_frames(self.folder)
        """The frames of the study, and the space that was searched."""
        self._page = page

    @property
    def record(self) -> StudyRecord:
        """The record of the study, trial by trial."""
        return self.frames.record

    @property
    def finished(self) -> bool:
        """Whether the study and its ablations are finished; ``skipstack.resume`` continues what is not."""
        return self.frames.finished

    def trials(self) -> "pd.DataFrame":
        """A row for each trial, in the order of proposal, with its value on every axis."""
        return self.frames.trials.copy()

    def best(self, n: int = 1) -> "pd.DataFrame":
        """The ``n`` best trials, the best first: rows as those of ``trials``, fewer where fewer have a score."""
        return self.frames.trials.loc[[trial.number for trial in self.record.ranked()[:n]]]

    def front(self) -> "pd.DataFrame":
        """The trials on the Pareto front of several objectives, the best score first: rows as those of ``trials``; none
        for a single objective.
        """
        return self.frames.trials.loc[[trial.number for trial in self.record.front()]]

    def curves(self) -> "pd.DataFrame":
        """A row for each epoch of each seed of each trial, with every metric that was reported."""
        return self._calls_told_apart(self.frames.curves)

    def seeds(self) -> "pd.DataFrame":
        """A row for each seed of each trial with a score: its result on dev, and on test if it was tested."""
        return self._calls_told_apart(self.frames.seeds)

    def _calls_told_apart(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """The frame with the seed and the replicate of each call in place of its number."""
        replicates = self.frames.study.search.repeated
        if not replicates.name:
            return frame.copy()
        calls = frame["seed"].tolist()
        told = frame.assign(seed=list(map(replicates.seed, calls)))
        told.insert(len(told.columns), replicates.name, list(map(replicates.value, calls)))
        first = ["trial", *(["epoch"] if "epoch" in frame else []), "seed", replicates.name]
        return told[[*first, *(name for name in told.columns if name not in first)]]

    def sentences(self) -> "pd.DataFrame":
        """A row for each test sentence and seed of each tested trial: the counts of the measure."""
        return self.frames.sentences.copy()

    def usage(self) -> "pd.DataFrame":
        """A row for each epoch with the CPU, GPU and memory use of its worker; empty without ``system_metrics``."""
        return self.frames.usage.copy()

    def events(self) -> "pd.DataFrame":
        """A row for each event of the ledger, from which all other frames are made."""
        return self.frames.events.copy()

    def to_parquet(self, folder: str | Path) -> Path:
        """Write each frame to ``folder`` as a Parquet file of its name, such as ``trials.parquet``; return its path."""
        self.frames.to_parquet(Path(folder))
        return Path(folder)

    def explored(self, by: Sequence[str] = ()) -> "Exploration":
        """The analysis of the search, its table over all axes or over the axes ``by``.

        Raises UserError for a name in ``by`` that is no axis.
        """
        return self.frames.exploration(by)

    def exploration(self, by: Sequence[str] = ()) -> "pd.DataFrame":
        """The table of the search as a frame: a row for each value of each axis, or of the axes ``by``.

        Raises UserError for a name in ``by`` that is no axis.
        """
        from skipstack.search.analysis.exploration.exploration_frame import exploration_frame

        return exploration_frame(self.explored(by))

    def export(
        self,
        to: str | Path,
        *,
        best: int | None = None,
        trial: int | None = None,
        pareto: bool = False,
        ensemble: bool = False,
        retrain: bool = False,
        device: str = "auto",
        code: Sequence[str | Path] = (),
    ) -> Path:
        """Write the bundle of the best trial, or of the trial number ``trial``, to a new folder or .zip, and return its
        path. The bundle has the trial's network, or the model that its function gave.

        With ``best`` > 1, ``to`` is a folder of so many bundles; with ``pareto``, of all trials on the Pareto front of
        several objectives. ``ensemble``: all seeds of a trial together. ``retrain``: train it again on train and dev
        together. ``code``: the network's own code files, if it has any, which are run; none: those of the last run.
        Raises UserError if these are not the recorded files, if ``to`` exists, if more than one of ``best``, ``trial``
        and ``pareto`` is given, if there is no such trial, if its weights were not kept and it is not retrained, if its
        function gave no model, and for an ensemble of one seed.
        """
        need("torch", "bundles")
        from functools import partial

        from skipstack.search.analysis.confirmation.figures import confirmed_figures
        from skipstack.search.api.recorded_options import load_code
        from skipstack.search.publishing.bundles.export import Recipe, chosen_trials, code_of_trials, export_bundles

        chosen = chosen_trials(self.record, best=best, trial=trial, pareto=pareto)
        load_code(self.folder, code_of_trials(chosen), [Path(each) for each in code])
        export_bundles(
            self.record,
            StudyFolder(self.folder),
            Path(to),
            best=best,
            trial=trial,
            device=device,
            pareto=pareto,
            recipe=Recipe(ensemble=ensemble, retrain=retrain),
            confirmed=partial(confirmed_figures, self.record),
        )
        return Path(to)

    def enqueue(self, *points: "Mapping[str, Json]") -> None:
        """Ask for points, which are tried next: by the process that runs the study now, or by the next ``resume``.

        A point has values by axis, a dotted path or its unambiguous end; other axes have the base's value. Raises
        UserError for an unknown axis, a value that is not allowed, and a point that the study has tried already.
        """
        from skipstack.search.api.run import ask_for

        ask_for(self.folder, points)

    def _repr_html_(self) -> str | None:
        """The HTML for a notebook: the best trials, and the pictures of the search; None: the line of ``repr``."""
        return None if self._page is None else self._page(self)

    def __repr__(self) -> str:
        """The study in a line: ``Study('runs/quickstart': 16 trials, finished, best accuracy 96.41 (trial 7))``."""
        record = self.record
        said = [counted(len(record.trials), "trial"), "finished" if self.finished else "not finished"]
        if ranked := record.ranked():
            best = record.measure.written(ranked[0].score or 0.0)
            said.append(f"best {record.measure.label} {best} (trial {ranked[0].number})")
        return f"Study({str(self.folder)!r}: {', '.join(said)})"


def exploration_of(record: StudyRecord, by: Sequence[str] = ()) -> "Exploration":
    """The analysis of a study's search. Raises UserError for a name in ``by`` that is no axis."""
    from skipstack.search.analysis.study_frames import StudyFrames

    return StudyFrames.of(record, Path()).exploration(by)  # nobody asks for its events
