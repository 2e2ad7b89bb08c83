"""skipstack is a guest: whatever it does with MLflow, MLflow and the user's own process stay as they were."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.basis.test_child_process import ROOT

SCRIPT = """
import logging, os, sys, warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

# Whatever our own commands load besides MLflow changes warnings, or is no concern of this test.
import pandas, pyarrow.parquet, pydantic, optuna, scipy.special
warnings.simplefilter("default")
os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "3"
os.environ["MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR"] = "0"
os.environ["MLFLOW_HTTP_REQUEST_BACKOFF_JITTER"] = "0"
if USES_MLFLOW:
    import mlflow
    mlflow.set_tracking_uri("sqlite:///own.db")
    mlflow.set_registry_uri("sqlite:///registry.db")
    logging.getLogger("mlflow").setLevel(logging.DEBUG)
    logging.getLogger("alembic").addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", category=FutureWarning, module="mlflow")


def snapshot():
    names = [name for name in logging.root.manager.loggerDict
             if name.partition(".")[0] in ("mlflow", "alembic", "sqlalchemy", "urllib3")]
    names += ["", "mlflow", "alembic", "sqlalchemy", "urllib3"]
    loggers = {
        name: (logger.level, logger.propagate, logger.disabled, list(logger.handlers), list(logger.filters))
        for name in names
        for logger in (logging.getLogger(name),)
    }
    seen = {"environment": dict(os.environ), "loggers": loggers, "warnings": list(warnings.filters),
            "mlflow": sorted(name for name in sys.modules if name.partition(".")[0] == "mlflow"),
            "disabled": logging.root.manager.disable}
    if USES_MLFLOW:
        from mlflow import environment_variables
        seen["uris"] = (mlflow.get_tracking_uri(), mlflow.get_registry_uri())
        seen["variables"] = {
            name: (each.name, each.default, each.get_raw() if each.defined else None)
            for name, each in vars(environment_variables).items()
            if isinstance(each, environment_variables._EnvironmentVariable)
        }
        assert len(seen["variables"]) > 50
    return seen


before = snapshot()
import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api.options import Execution
from skipstack.search.api.run import sync_to_mlflow


def hill(config, report):
    for epoch in range(1, 3):
        report(score=-(config["x"] - 1) ** 2 * epoch)


def same(step):
    after = snapshot()
    for name, value in before.items():
        assert after[name] == value, (step, name, value, after[name])


space = {"about": "A hill", "base": {"x": 3.0}, "axes": {"x": {"real": [0.0, 4.0]}}, "search": {"proposer": "random"}}
store = f"sqlite:///{Path('store.db').resolve()}"
study = skipstack.search(space, hill, trials=2, epochs=2, out="study", engine="serial", tracking_uri=store)
assert study.finished
same("search")
assert skipstack.open("study").trials().equals(study.trials())
same("open")
(name,) = [event.study["name"] for event in __import__("skipstack.search.ledger.ledger", fromlist=["Ledger"])
           .Ledger(Path("study/ledger")).read() if event.kind == "study_opened"]
other = f"sqlite:///{Path('other.db').resolve()}"
assert sync_to_mlflow(Path("study"), Execution(tracking_uri=other)).missing == []
same("sync")
assert skipstack.open(f"mlflow:{name}", tracking_uri=other).trials().equals(study.trials())
same("mlflow:NAME")
os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"  # else MLflow tries again for long
before["environment"]["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
if USES_MLFLOW:
    before["variables"]["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", 7, "0")
try:
    skipstack.open("mlflow:none", tracking_uri="http://ann:s3cret@127.0.0.1:9")
    raise AssertionError("there is no such server")
except UserError as refused:
    assert str(refused).startswith("mlflow:none: MLflow at http://127.0.0.1:9 says: "), refused
    assert "s3cret" not in str(refused) and "\\n" not in str(refused), refused
same("a server that is not there")
try:
    skipstack.open("mlflow:none", tracking_uri=store)
    raise AssertionError("there is no such study")
except UserError as refused:
    assert "unknown study 'none'" in str(refused), refused
same("a study that is not there")

if USES_MLFLOW:
    asked = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(503 if len(asked) <= 2 else 200)
            body = b'{"experiment": {"experiment_id": "7", "name": "own", "lifecycle_stage": "active"}}'
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    own = mlflow.MlflowClient(f"http://127.0.0.1:{server.server_port}")
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "3"
    assert own.get_experiment("7").name == "own"
    assert len(asked) == 3, asked
    with mlflow.start_run() as run:
        mlflow.log_metric("own", 1.0)
    assert mlflow.get_run(run.info.run_id).data.metrics == {"own": 1.0}
print("as it was")
"""


@pytest.mark.slow
@pytest.mark.parametrize("uses_mlflow", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_process_that_searches_opens_syncs_and_reads_is_as_it_was(uses_mlflow: bool, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"USES_MLFLOW = {uses_mlflow}\n{SCRIPT}")
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    ran = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**own, "PYTHONPATH": str(ROOT / "src"), "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.stdout.splitlines()[-1:] == ["as it was"], ran.stderr


@pytest.mark.slow
def test_an_import_of_all_that_tracks_loads_no_mlflow_and_sets_nothing() -> None:
    """Of a process whose environment has none of MLflow's variables, too."""
    program = (
        "import json, logging, os, warnings\n"
        "before = dict(os.environ)\n"
        "import pandas\n"
        "filters = list(warnings.filters)\n"
        "import importlib, pkgutil, sys, skipstack.search.api.run\n"
        "import skipstack.search.publishing.tracking as tracking\n"
        "names = [each.name for each in pkgutil.iter_modules(tracking.__path__) if each.name != 'optuna_storage']\n"
        "for name in names: importlib.import_module(f'{tracking.__name__}.{name}')\n"
        "levels = {name: logging.getLogger(name).level for name in ('mlflow', 'alembic', 'sqlalchemy')}\n"
        "print(json.dumps([dict(os.environ) == before, filters == list(warnings.filters), 'mlflow' in sys.modules,"
        " levels, len(names)]))\n"
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    env = {**own, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    environment, filters, loaded, levels, count = json.loads(ran.stdout)
    assert environment
    assert filters
    assert not loaded
    assert levels == {"mlflow": 0, "alembic": 0, "sqlalchemy": 0}
    assert count > 10
