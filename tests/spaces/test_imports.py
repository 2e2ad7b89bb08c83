"""Describing a space costs no heavy import: shown in a process of its own."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path

for module in Path("spaces").glob("*.py"):
    __import__(f"skipstack.spaces.{module.stem}")
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.study_file import load_study, presets, schema
from skipstack.spaces.space import Space

for name in presets():
    study, folder = load_study(name)
    space = Space(study.space)
    assert isinstance(study, StudyConfig)
    assert space.count() is None or space.count() > 0
schema()
print(*sorted({name.removeprefix("skipstack.").partition(".")[0] for name in sys.modules}))
"""


def test_describing_a_space_loads_neither_torch_nor_ray_nor_mlflow_nor_optuna() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"spaces", "search", "models", "data", "pydantic", "yaml"} <= loaded
    assert loaded.isdisjoint({"torch", "ray", "mlflow", "optuna", "pandas", "pyarrow"})
