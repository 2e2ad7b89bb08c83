"""Where numbers are computed, by the name that a user gives."""

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.models.ground.device import choose_device


@pytest.mark.parametrize("present", [True, False])
def test_auto_takes_a_gpu_where_there_is_one_and_a_cpu_is_always_there(
    present: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    assert choose_device("auto").type == ("cuda" if present else "cpu")
    assert choose_device("cpu").type == "cpu"


@pytest.mark.parametrize("name", ["cuda", "cuda-graphs"])
def test_a_gpu_that_is_absent_is_a_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device(name) == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=rf"--device {name}: no GPU here \(allowed: auto, cpu\)"):
        choose_device(name)
