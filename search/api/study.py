"""The class ``skipstack.Study``: a study's folder, progress and results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.parts import need
from skipstack.search.api.arguments import check_arguments
from skipstack.search.api.asking import ask_for, ask_to_stop, noted, renamed
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration
    from skipstack.spaces.domains import Json
    from skipstack.spaces.subject import Subject


@final
class Study:
    """The study in ``folder``, as it is when this object is created. Its results are returned as pandas frames.

    ``page``: returns the HTML with which a notebook shows the study; None means a line of text. Frames have the columns
    of ``skipstack.search.analysis.frames.columns.COLUMNS``. Raises UserError if the study is missing or damaged.
    """

    def __init__(self, folder: str | Path, page: "Callable[[Study], str] | None" = None) -> None:
        from skipstack.search.analysis.study_frames import study_frames

        self.folder = Path(folder)
        self.frames = study_frames(self.folder)
        """The frames of the study, with its config and space. The methods return copies of the frames."""
        self._page = page

    @property
    def record(self) -> StudyRecord:
        """The record of the study, with the config, reports and result of every trial."""
        return self.frames.record

    @property
    def finished(self) -> bool:
        """Whether the study and all its ablations are finished. If not, ``skipstack.resume`` continues the study."""
        return self.frames.finished

    def trials(self) -> "pd.DataFrame":
        """A row for each trial, in the order of proposal, with its value on every axis."""
        return self.frames.trials.copy()

    def best(self, n: int = 1) -> "pd.DataFrame":
        """The ``n`` best trials, the best first, as rows of ``trials``; fewer if fewer trials have a score."""
        return self.frames.trials.loc[[trial.number for trial in self.record.ranked()[:n]]]

    @property
    def best_params(self) -> "dict[str, Json]":
        """The values of the best trial, by axis. Axes that are inactive in it are left out. Raises UserError if no
        trial has a score, as ``best_config`` and ``best_score`` do.
        """
        return dict(self.record.best.point)

    @property
    def best_config(self) -> "Subject":
        """The config of the best trial: the base config with the values of ``best_params``. For a function,
        ``best_config.values`` has all arguments.
        """
        return self.record.best.config

    @property
    def best_score(self) -> float:
        """The score of the best trial, as in the column ``score`` of ``trials``: the larger the better. The column
        ``dev`` has the same score in the unit of the study's measure, in which smaller may be better.
        """
        score = self.record.best.score
        assert score is not None, "the best trial has a score"
        return score

    def front(self) -> "pd.DataFrame":
        """The trials on the Pareto front, the best score first, as rows of ``trials``. Empty for one objective."""
        return self.frames.trials.loc[[trial.number for trial in self.record.front()]]

    def curves(self) -> "pd.DataFrame":
        """A row for each epoch of each seed of each trial, with every reported metric."""
        return self._calls_told_apart(self.frames.curves)

    def seeds(self) -> "pd.DataFrame":
        """A row for each seed of each trial with a score: its result on dev and, if the trial was tested, on test."""
        return self._calls_told_apart(self.frames.seeds)

    def _calls_told_apart(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Replace the column with the numbers of function calls by two columns, the seed and the replicate. Without
        replicates, return a copy of the frame.
        """
        replicates = self.frames.study.search.repeated
        if not replicates.name:
            return frame.copy()
        calls = frame["seed"].tolist()
        told = frame.assign(seed=list(map(replicates.seed, calls)))
        told.insert(len(told.columns), replicates.name, list(map(replicates.value, calls)))
        first = ["trial", *(["epoch"] if "epoch" in frame else []), "seed", replicates.name]
        return told[[*first, *(name for name in told.columns if name not in first)]]

    def sentences(self) -> "pd.DataFrame":
        """A row for each test sentence and seed of each tested trial, with the counts that the measure is based on."""
        return self.frames.sentences.copy()

    def usage(self) -> "pd.DataFrame":
        """A row for each epoch of each trial, with the CPU, GPU and memory use of its worker. Empty for a study that
        ran without the option ``system_metrics``.
        """
        return self.frames.usage.copy()

    def events(self) -> "pd.DataFrame":
        """A row for each event of the ledger, the source of all other frames."""
        return self.frames.events.copy()

    def to_parquet(self, folder: str | Path) -> Path:
        """Write each frame to ``folder`` as a Parquet file, such as ``trials.parquet``, and return the folder."""
        self.frames.to_parquet(Path(folder))
        return Path(folder)

    def explored(self, by: Sequence[str] = ()) -> "Exploration":
        """Analyse the search, in a table over the axes ``by`` (all if empty). Raises UserError for an unknown axis."""
        check_arguments(by=by)
        return self.frames.exploration((by,) if isinstance(by, str) else by)

    def exploration(self, by: Sequence[str] = ()) -> "pd.DataFrame":
        """The table of the search's analysis as a frame. It begins with the rows ``baseline``, ``base`` and ``best``,
        as far as these are known. Then it has a row for each value of each axis. A continuous axis, or an axis with
        many numbers, is divided into ranges instead. ``by``: the axes; empty means all axes. Raises UserError for an
        unknown axis.
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
        epochs: int | None = None,
        device: str = "auto",
        code: Sequence[str | Path] = (),
    ) -> Path:
        """Export the model of a trial as a bundle, and return the bundle's path. A bundle is a new folder or .zip with
        the trial's network, or with the model that the study's function reported. By default, the best trial is
        exported.

        ``to``: the path of the bundle; for several trials, the path of a folder with a bundle for each. ``best``:
        export this many of the best trials. ``trial``: export the trial with this number. ``pareto``: export all trials
        on the Pareto front of several objectives. ``ensemble``: export all seeds of a trial together instead of the
        best seed. ``retrain``: train the network again on the training split and dev. ``epochs``: the number of epochs
        of the retraining; None means up to the trial's best epoch. ``device``: where to compute. ``code``: the files of
        the user's own code that the network needs. They are executed. Empty means the files of the last run.

        Raises UserError if ``to`` exists, if there is no such trial, or if more than one of ``best``, ``trial`` and
        ``pareto`` is given. Raises it also if the files in ``code`` differ from the recorded files, for a trial without
        kept weights (unless ``retrain``) or without a reported model, for an ensemble of one seed, for ``epochs``
        without ``retrain``, and for more ``epochs`` than the study recorded.
        """
        check_arguments(out=to, code=code, epochs=epochs)
        need("torch", "bundles")
        from skipstack.search.api.recorded_options import load_code
        from skipstack.search.publishing.bundles.export import Recipe, chosen_trials, code_of_trials, export_bundles

        chosen = chosen_trials(self.record, best=best, trial=trial, pareto=pareto)
        load_code(self.folder, code_of_trials(chosen), [Path(each) for each in code])
        export_bundles(
            self.record,
            StudyFolder(self.folder),
            chosen,
            Path(to),
            device,
            recipe=Recipe(ensemble=ensemble, retrain=retrain, epochs=epochs),
        )
        return Path(to)

    def enqueue(self, *points: "Mapping[str, Json] | Sequence[Mapping[str, Json]]") -> None:
        """Request that the study tries these points next, given one by one or as a list. They are tried by the process
        that runs the study now, or else by the next ``resume``.

        A point maps axes to values. An axis is named by its dotted path, or by an unambiguous end of the path. An axis
        that is not named gets the base's value or, if that is not among its values, its first value. Raises UserError
        for an unknown axis, for an axis that is inactive at the point, for a value or a point that is not allowed, and
        for a point that the study has already tried.
        """
        given = [each if isinstance(each, Sequence) and not isinstance(each, str) else [each] for each in points]
        ask_for(self.folder, [point for listed in given for point in listed])

    def stop(self, *trials: int) -> None:
        """Request that the process that runs this study ends ``trials`` at their next report. Without ``trials``,
        request that the process starts no further trial: trials in training go on, and the study ends as usual. Raises
        UserError if no process runs the study, if its search is over, and for a trial that does not exist or has ended.
        """
        ask_to_stop(self.folder, trials)

    def note(self, text: str, trial: int | None = None) -> None:
        """Write a note on the study, or on a trial, in place of an earlier one; an empty text removes it. Raises
        UserError for a trial that does not exist, for more than 5,000 characters, and while an ablation runs.
        """
        noted(self.folder, text, trial)

    def rename(self, title: str) -> None:
        """Give the study another title, by which pages and reports call it; its folder stays. Raises UserError for an
        empty title, for more than 200 characters, and while an ablation runs.
        """
        renamed(self.folder, title)

    def _repr_html_(self) -> str | None:
        """The HTML for a notebook: the report of the study. None means ``repr`` instead."""
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
    """Analyse a study's search from its record, as ``Study.explored`` does."""
    from skipstack.search.analysis.study_frames import StudyFrames

    return StudyFrames.of(record, Path()).exploration(by)  # the folder is needed only for the frame of events
