"""Which packages are built: those in the folders of the top level, each as a part of skipstack.

They are found where they lie. Symbolic links lead to them as well, but not everywhere: pip writes those of a .zip as
text files, and so does git without ``core.symlinks``. Only an editable install needs the links: it puts src/ on the
path, where skipstack/ lies alone. With the map of a wheel setuptools would hook into the import system behind the path,
where any empty folder called skipstack would come first.
"""

import sys
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

FOLDERS = ("data", "models", "spaces", "search", "dashboards")


def packages() -> list[str]:
    """All of them, by their names within skipstack. Exits where a folder has none."""
    found = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])
    for folder in FOLDERS:
        if folder not in found:
            sys.exit(f"skipstack: no package in {folder}/ (allowed: a whole checkout, or a source distribution)")
    return ["skipstack", *(f"skipstack.{name}" for name in found)]


def linked(expected: list[str]) -> list[str]:
    """The same packages by the links. Exits where these lead to others."""
    found = find_packages("src")
    if set(found) != set(expected):
        sys.exit(
            "skipstack: src/ and skipstack/ have no symbolic links to the packages, which an editable install needs "
            "(allowed: a checkout with core.symlinks=true; or an install that is not editable)"
        )
    return found


if "editable_wheel" in sys.argv:  # as setuptools calls this command
    setup(package_dir={"": "src"}, packages=linked(packages()))
else:
    with TemporaryDirectory() as build:  # what an earlier build has left would be installed, too
        setup(
            package_dir={f"skipstack.{folder}": folder for folder in FOLDERS},
            packages=packages(),
            options={"build": {"build_base": build}},
        )
