"""The private names of libraries that skipstack uses are those on a page; a missing one is handled."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from skipstack.models.configs.training import Adam
from skipstack.models.ground.parameters import BIAS, TABLE, parameter
from skipstack.models.training import gradients
from skipstack.models.training.optimisers import optimiser
from tests.pages import ROOT

PAGE = ROOT / "docs" / "decisions" / "private-names.md"
LIBRARIES = {
    "altair",
    "click",
    "llvmlite",
    "numba",
    "numpy",
    "optuna",
    "pandas",
    "pyarrow",
    "pydantic",
    "pydantic_core",
}
LIBRARIES |= {"mlflow", "ray", "rich", "scipy", "sqlalchemy", "starlette", "statsmodels", "torch", "triton", "typer"}
FOLDERS = ("data", "models", "spaces", "search", "dashboards", "skipstack")
PRIVATE = re.compile(r"_[a-z]\w*", re.IGNORECASE)
OURS = {"self", "cls"}
STANDARD = {"os._exit"}


def private(dotted: str) -> bool:
    """Whether a part of the name is private, or the name belongs to undocumented internals of numba."""
    return any(PRIVATE.fullmatch(part) for part in dotted.split(".")) or dotted.startswith(("numba.core", "numba.np"))


def used(file: Path) -> Iterator[str]:
    """Yields the last parts of the private names of libraries in a file."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    own = {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    own |= {each.target.id for each in nodes if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}
    attributes = [each for each in nodes if isinstance(each, ast.Attribute)]
    own |= {each.attr for each in attributes if isinstance(each.value, ast.Name) and each.value.id in OURS}
    for each in nodes:
        if isinstance(each, ast.ImportFrom) and each.module and each.module.split(".")[0] in LIBRARIES:
            yield from (alias.name for alias in each.names if private(f"{each.module}.{alias.name}"))
        elif isinstance(each, ast.Import):
            names = [alias.name for alias in each.names if alias.name.split(".")[0] in LIBRARIES]
            yield from (name.split(".")[-1] for name in names if private(name))
        elif isinstance(each, ast.Attribute) and PRIVATE.fullmatch(each.attr) and each.attr not in own:
            if ast.unparse(each) not in STANDARD:
                yield each.attr
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in LOOKED_UP:
            yield each.value


UNDOCUMENTED = ("ray.tune.utils.log",)
"""Names on the page that look public but are undocumented."""

LOOKED_UP = {"_active_run_stack", "_engine_run_backward", "_version"}
"""Private names that are looked up by ``getattr``."""


def test_the_page_lists_those_that_are_used() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    found = {name for file in files for name in used(file)} - {"arraymath"}
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    listed = {
        name.split(".")[-1]
        for row in rows
        for name in re.findall(r"`([\w.]+)`", row)
        if not name.startswith(UNDOCUMENTED)
    }
    assert found == listed


def test_gradients_are_the_same_by_the_public_function(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    share = torch.rand(2, 5, generator=torch.Generator().manual_seed(1))
    found = []
    for run in (gradients.run, None):
        monkeypatch.setattr(gradients, "run", run)
        weight.grad = None
        gradients.backward(weight.sin().sum(dim=2), share)
        found.append(weight.grad)
    assert gradients.run is None
    assert found[0] is not None
    assert found[1] is not None
    assert torch.equal(found[0], found[1])


def test_adam_moves_alike_without_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for fused in (True, False):
        if not fused:
            monkeypatch.delattr(torch, "_fused_adam_")
        ours = {"table": parameter(3, 5, 2, role=TABLE), "bias": parameter(3, 4, role=BIAS)}
        adam = optimiser(Adam(), ours)
        source = torch.Generator().manual_seed(0)
        for each in ours.values():
            each.data = torch.randn(each.shape, generator=source)
        for _ in range(5):
            for each in ours.values():
                each.grad = torch.randn(each.shape, generator=source)
            adam.step(torch.tensor([0.1, 0.05, 0.007]))
        found.append({name: each.detach().clone() for name, each in ours.items()})
    for name, expected in found[0].items():
        torch.testing.assert_close(found[1][name], expected, rtol=1e-5, atol=1e-6)


WITHOUT = """
import sys
import numba.core.ccallback, numba.core.caching
import torch, torch.utils.backend_registration
if len(sys.argv) > 1:
    sys.modules["torch._higher_order_ops.scan"] = None
    del torch._fused_adam_, torch._foreach_copy_, torch.autograd.graph._engine_run_backward
    torch.utils.backend_registration.__dict__.pop("_setup_privateuseone_for_python_backend", None)
    numbas = numba.core.ccallback.CFunc
    del numba.core.caching._Cache, numba.core.ccallback.CFunc
    import skipstack.models.kernels.compiling
    numba.core.ccallback.CFunc = numbas  # which numba needs itself
from skipstack.data.basis.errors import UserError
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.models.views.program import takes_any_length
from tests.models.training.test_training import ADAM, CORPUS, NETWORK
of = {"model": NETWORK, "training": ADAM, "corpus": CORPUS, "lanes": [Lane(seed=1)], "device": torch.device("cpu")}
run = Training(order_seed=0, **of)
print(*(loss for _ in range(2) for loss in run.train_epoch().tolist()))
print(takes_any_length(NETWORK))
try:
    import skipstack.models.conformance.accelerator.simulated
except UserError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_network_is_trained_without_any_of_them(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    lines, errors = [], []
    for further in ([], ["without"]):
        command = [sys.executable, "-c", WITHOUT, *further]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        lines.append(run.stdout.splitlines())
        errors.append(run.stderr)
    (losses, any_length), (others, not_any_length, said) = lines
    assert list(map(float, others.split())) == pytest.approx(list(map(float, losses.split())), rel=1e-4)
    assert (any_length, not_any_length) == ("True", "False")
    assert "can simulate no GPU" in said
    assert "each process compiles anew" not in errors[0]
    assert errors[1].count("each process compiles anew") == 1
