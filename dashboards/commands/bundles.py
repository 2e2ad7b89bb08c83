"""``skipstack export``, ``verify`` and ``predict``: write, check and use bundles."""

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skipstack.dashboards.commands.next_steps import of_registered
from skipstack.dashboards.commands.options import BundlePath, Code, ComputeDevice, StudyPath, number
from skipstack.dashboards.commands.plain_text import sentences
from skipstack.dashboards.reports.printing import say, write_utf8
from skipstack.data.basis.atomic_files import refused_where_unwritable, write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import TokenVectors
from skipstack.data.tasks.task import Form
from skipstack.search.study.record.folder import StudyFolder

if TYPE_CHECKING:
    from skipstack.search.study.record.study_record import StudyRecord


def export(
    study: StudyPath,
    to: Annotated[
        Path | None,
        typer.Option(
            help="A new folder, or .zip, for the bundle; for several bundles (--best 2, --pareto), their folder."
        ),
    ] = None,
    best: Annotated[int | None, number("Export the N best trials. Left out: the best one.", 1)] = None,
    trial: Annotated[int | None, number("Export one trial, by its number.", 0)] = None,
    register: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also put it into MLflow's model registry, under this name.")
    ] = None,
    tracking_uri: Annotated[
        str | None, typer.Option(metavar="URI", help="The MLflow store for --register; by default the study's.")
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Of a study with several objectives: export all trials of the Pareto front."),
    ] = False,
    ensemble: Annotated[
        bool,
        typer.Option(
            "--ensemble", help="Put the networks of all seeds of the trial into one bundle, where they decide together."
        ),
    ] = False,
    retrain: Annotated[
        bool,
        typer.Option(
            "--retrain",
            help="Train the trial again on train and dev together, up to its best epoch; with its first seed, or with "
            "all for an ensemble.",
        ),
    ] = False,
    epochs: Annotated[int | None, number("With --retrain: how many epochs, in place of up to the best.")] = None,
    torch_export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.pt2", help="Also write the network as a torch.export program, after comparing the two."
        ),
    ] = None,
    device: ComputeDevice = "auto",
    code: Code = None,
    to_optuna: Annotated[
        str | None,
        typer.Option(
            "--optuna",
            metavar="URI",
            help="Write no bundle, but all trials into this Optuna storage, such as sqlite:///optuna.db.",
        ),
    ] = None,
    to_study: Annotated[
        Path | None,
        typer.Option(
            "--study",
            metavar="FILE.yaml",
            help="Write no bundle, but the trial's config as a new study file, which trains it alone or is the base of "
            "another search. Relative paths start at its folder.",
        ),
    ] = None,
) -> None:
    """Write the best network or model as plain files (a bundle).

    The bundle of a network holds JSON and safetensors, and loads without ray or mlflow. The bundle of a user's function
    holds the files that the function passed to report(..., model=PATH).
    """
    several = pareto or (best or 1) > 1
    if register is not None and several:
        raise UserError("--register: got several models for one name (allowed: one, by --best 1 or --trial N)")
    if register is not None and (not register or {*register} & {"/", ":", '"'}):
        raise UserError(f'--register: got {register!r} (allowed: a name without /, : and ")')
    if to is not None and to.suffix in (".gz", ".tgz", ".tar", ".bz2", ".xz", ".7z"):
        raise UserError(f"--to {to}: got a name for {to.suffix} (allowed: a folder, or a name that ends in .zip)")
    if torch_export is not None and several:
        raise UserError("--torch-export: got several models for one file (allowed: one, by --best 1 or --trial N)")
    if tracking_uri is not None and register is None:
        raise UserError("--tracking-uri: got nothing to register there (allowed: with --register NAME)")
    outputs = {"--to": to, "--optuna": to_optuna, "--study": to_study}
    asked = [option for option, value in outputs.items() if value is not None]
    if len(asked) != 1:
        raise UserError(f"got {' and '.join(asked) or 'none of --to, --optuna and --study'} (allowed: one of them)")
    from skipstack.search.study.record.reading import read_study

    record = read_study(study)  # raises for a folder without a study, before the slow imports
    of_bundles = (pareto or None, register, ensemble or None, retrain or None, epochs, torch_export)
    if to_optuna is not None:
        if any(each is not None for each in (best, trial, *of_bundles)):
            raise UserError(
                "--optuna excludes --best, --trial, --pareto, --ensemble, --retrain, --epochs, --torch-export and "
                "--register (allowed: without; it takes all trials as they are)"
            )
        print(_in_optuna(record, study, to_optuna))
        return
    if to_study is not None:
        if several or any(each is not None for each in of_bundles):
            raise UserError(
                "--study excludes several trials, --pareto, --ensemble, --retrain, --epochs, --torch-export and "
                "--register (allowed: --trial N, or the best trial; it writes a config, and no network)"
            )
        _write_study(record, to_study, best, trial)
        return
    assert to is not None, "one of the three is given"
    from skipstack.search.api.recorded_options import load_code
    from skipstack.search.publishing.bundles.export import Recipe, chosen_trials, code_of_trials, export_bundles

    chosen = chosen_trials(record, best=best, trial=trial, pareto=pareto)
    load_code(study, code_of_trials(chosen), code or ())
    folder = StudyFolder(study)
    recipe = Recipe(ensemble=ensemble, retrain=retrain, epochs=epochs, tell=say)
    if torch_export is not None:
        from skipstack.search.publishing.bundles.programs import check_program
        from skipstack.spaces.trial import as_network

        check_program(as_network(chosen[0].config), torch_export)
    for path in export_bundles(record, folder, chosen, to, device, recipe=recipe):
        print(path)
    if torch_export is not None:
        _as_program(record, folder, to, torch_export, device)
    if register is not None:
        from skipstack.dashboards.commands.published import bundle_of
        from skipstack.dashboards.commands.running import execution
        from skipstack.search.publishing.bundles.files import copy_bundle

        left = bundle_of(record, folder, chosen[0], device)
        scores = {} if recipe.suffix else left.scores  # the scores are not those of a retrained network or an ensemble
        written = replace(left, name=left.name + recipe.suffix, write=partial(copy_bundle, to), scores=scores)
        where = execution(study, engine="serial", tracking_uri=tracking_uri)
        version = where.register(folder, record, written, register)
        model = f"models:/{register}/{version}"
        say(f"registered in MLflow: {model}, with the alias {written.alias}")
        say(of_registered(where.runs(folder), model, is_served=_is_served_by_mlflow(to)))


def _is_served_by_mlflow(bundle: Path) -> bool:
    """Whether MLflow can serve a bundle: a network that needs neither the user's own code nor a vector for each token,
    or a function's model in MLflow's format.
    """
    from skipstack.search.publishing.bundles.bundle import bundle_config
    from skipstack.search.publishing.bundles.files import is_own
    from skipstack.search.publishing.bundles.own_export import is_mlflow_model
    from skipstack.search.publishing.bundles.own_model import load_own

    if is_own(bundle):
        return is_mlflow_model(load_own(bundle).files)
    config = bundle_config(bundle)
    return not config.network_code and not isinstance(config.data.vectors, TokenVectors)


def _in_optuna(record: "StudyRecord", study: Path, uri: str) -> str:
    """Write the study into an Optuna storage, and return the name of the Optuna study."""
    from skipstack.search.ledger.ledger import Ledger
    from skipstack.search.publishing.tracking.optuna_storage import write_study

    return write_study(record, Ledger(StudyFolder(study).ledger).only("started", "ended"), uri)


def _write_study(record: "StudyRecord", to: Path, best: int | None, trial: int | None) -> None:
    """Write a trial's config to the new file ``to``, as a study file, and print commands that read the file."""
    from skipstack.search.publishing.bundles.export import chosen_trials
    from skipstack.search.study.study_files.study_file import SUFFIXES
    from skipstack.search.study.study_files.written_study import study_of_trial

    if to.suffix not in SUFFIXES:
        raise UserError(f"--study {to}: got a name for another format (allowed: one that ends in {SUFFIXES[0]})")
    [chosen] = chosen_trials(record, best=best, trial=trial)
    text = study_of_trial(record.study, chosen)
    with refused_where_unwritable(to):
        if to.exists():
            raise UserError(f"--study {to}: exists (allowed: a new file)")
        write_atomically(to, text.encode())
    print(to)
    say(f"`{shlex.join(['skipstack', 'plan', str(to)])}` says what training it takes, and `search` trains it")


def _as_program(record: "StudyRecord", folder: StudyFolder, bundle: Path, to: Path, device: str) -> None:
    """Write a bundle as a torch.export program, and print how the program's scores differ from the network's."""
    from skipstack.data.store.stored import open_store
    from skipstack.models.ground.device import choose_device
    from skipstack.search.publishing.bundles.bundle import load_bundle
    from skipstack.search.publishing.bundles.programs import write_program

    loaded = load_bundle(bundle, choose_device(device))
    say("exporting the program: minutes, where a network is written out step by step")
    found = write_program(loaded, open_store(folder.stored(record.corpus_of(loaded.config))), to)
    print(to)
    say(
        f"{to}: decides as the network does on {found.sentences} sentences of dev and test "
        f"({found.decisions} decisions); scores differ by {found.largest_difference:.1e} of them at most"
    )


def verify(
    bundle: BundlePath,
    data_dir: Annotated[
        list[Path] | None,
        typer.Option(
            help="The folder of its corpus; for files of your own, by default the working directory. May be repeated: "
            "relative paths start at the first folder, absolute paths may lead into any of them.",
            metavar="DIR",
        ),
    ] = None,
    device: ComputeDevice = "auto",
    code: Code = None,
) -> None:
    """Check that a bundle reproduces its recorded results.

    Evaluates the network again on its corpus, and compares every count with the recorded one. The files of a model from
    a user's function are only compared with their recorded hashes, and never run.
    """
    from skipstack.search.publishing.bundles.files import is_own

    if is_own(bundle):
        if data_dir or code:
            option = "--data-dir" if data_dir else "--code"
            raise UserError(f"{option}: got a function's model, which is not run (allowed: without)")
        _say_own(bundle)
        return
    from skipstack.search.publishing.bundles.export import verify_bundle

    folders = data_dir or []
    first = folders[0] if folders else None
    measure, verified = verify_bundle(bundle, data_dir=first, others=folders[1:], device=device, code=code or ())
    for split, metrics in verified.items():
        print(f"{split}: {measure.described(metrics)}, as exported")


def _say_own(bundle: Path) -> None:
    """Check the files of a bundle with the model of a user's function, and print the model's origin."""
    from skipstack.data.basis.counted import counted
    from skipstack.data.basis.printable import visible
    from skipstack.search.publishing.bundles.own_model import load_own

    model = load_own(bundle)
    origin = model.provenance
    print(
        visible(
            f"model of the function {origin.function.name}: study {origin.study}, trial {origin.trial}, {origin.call}, "
            f"after epoch {origin.epoch}"
        )
    )
    print(
        f"{counted(len(model.files), 'file')}, {sum(model.files.values()):,} bytes, as exported; nothing of it was run"
    )


def predict(
    bundle: BundlePath,
    file: Annotated[Path | None, typer.Argument(help="UTF-8 text, one sentence a line. Left out: stdin.")] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="`columns`: a line for each token, token and tag; `lines`: a line for each sentence, word_TAG.",
        ),
    ] = None,
    device: ComputeDevice = "auto",
    code: Code = None,
) -> None:
    """Predict the tags, labels or trees of text.

    A bundle that tags words reads words separated by blanks and writes columns. A bundle that tags characters, for
    example Chinese ones, reads raw text without its blanks, finds the words and writes lines. Choose columns or lines
    with --format. If intents are learned with slots, columns have a line `# intent: flight` before each sentence, and
    lines end in `<=> flight`. A text classifier always writes `label<TAB>text` for each text. A parser writes columns
    of word, head and relation; the head is the number of a word, or 0 for the root. Input and output are UTF-8.
    """
    from skipstack.models.ground.device import choose_device
    from skipstack.search.publishing.bundles.bundle import load_bundle

    tagger = load_bundle(bundle, choose_device(device), code or ())
    chosen = form or ("lines" if tagger.unit == "character" else "columns")
    if chosen not in tagger.task.forms:
        allowed = ", ".join(tagger.task.forms)
        raise UserError(f"--format: got {chosen} for a bundle of {tagger.task.corpus} (allowed: {allowed})")
    write_utf8()
    for sentence in tagger.annotate(sentences(file, tagger.unit)):
        sys.stdout.write(tagger.task.written(sentence, chosen, tagger.segmentation))
