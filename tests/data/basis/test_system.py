"""Which systems are refused, and how many CPUs there are on the others."""

import os
import sys

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import check_system, usable_cpus


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_linux_and_macos_are_taken(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    check_system()


def test_windows_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(UserError, match=r"^Windows: [^\n]+ \(allowed: Linux, macOS, [^\n]+\)$"):
        check_system()


def test_a_process_counts_the_cpus_that_it_may_use_and_on_macos_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4}, raising=False)
    assert usable_cpus() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cpus() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)  # as where nobody says
    assert usable_cpus() == 1
