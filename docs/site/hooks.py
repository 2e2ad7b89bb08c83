"""Hooks that give the site pages from outside of docs/, links between pages, and docstrings.

mkdocs calls the functions, and griffe, which reads the docstrings, the class; mkdocs.yml names this file for both.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath

from griffe import Extension, Function, Module, Object, Parameter, ParameterKind
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "start.md",
    "docs/try-it.ipynb": "try-it.md",
    "search/cluster/README.md": "guide/cluster-files.md",
    "search/cluster/grafana.json": "guide/grafana.json",
}
"""Files that the site has elsewhere than docs/ does, or as pages, by their paths: their places in the site."""


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the files that are elsewhere."""
    for path, place in ELSEWHERE.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links from the places of pages in the repository to their places in the site.

    A file that the site does not have is named by its path; one that nobody has is left, and ends the build.
    """
    here = page.file.src_uri
    written = {place: path for path, place in ELSEWHERE.items()}.get(here, f"docs/{here}")
    if written.endswith(".ipynb"):
        markdown = "\n\n".join(_cells(markdown))

    def in_site(link: re.Match[str]) -> str:
        text, target, anchor = link.groups()
        path = normpath(f"{dirname(written)}/{target}".lstrip("/"))
        place = ELSEWHERE.get(path, path.removeprefix("docs/"))
        file = files.get_file_from_path(place)
        if (file is None or file.inclusion.is_excluded()) and (ROOT / path).is_file():
            return f"{text} (`{path}`)"
        return f"[{text}]({relpath(place, dirname(here) or '.')}{anchor})"

    return re.sub(r"\[([^\]]*)\]\((?!\w+:)([^)#\s]+)([^)\s]*)\)", in_site, markdown)


def _cells(notebook: str) -> Iterator[str]:
    """Yield the cells of a notebook and what they show as Markdown."""
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield f"```{'sh' if source.startswith('!') else 'python'}\n{source.removeprefix('!')}\n```"
        for output in cell["outputs"]:
            shown = output.get("data", {"text/plain": output.get("text", "")})
            html, text = ("".join(shown.get(kind, "")) for kind in ("text/html", "text/plain"))
            yield f"<div>{html}</div>" if html else f"```text\n{text.rstrip()}\n```"


class Docstrings(Extension):
    """Docstrings as Markdown, and functions as they are where skipstack is imported."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[str, Function] = {}

    def on_object(self, *, obj: Object, **_: object) -> None:
        """A block of code, which ``::`` begins in reStructuredText, is known by its indent."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^::\n|(?<=:):$", "", obj.docstring.value)

    def on_function_instance(self, *, func: Function, **_: object) -> None:
        """Keep the functions of ``skipstack``: the package ``skipstack.search`` takes the place of that name."""
        if func.parent is not None and func.parent.path == "skipstack":
            self.functions[func.name] = func

    def on_package(self, *, pkg: Module, **_: object) -> None:
        """Let the package ``skipstack.search`` be the function, and name the options of a run in all signatures."""
        if pkg.path != "skipstack":
            return
        self.functions["search"].members = pkg["search"].members
        pkg.members["search"] = self.functions["search"]
        for function in self.functions.values():
            if "options" in function.parameters:
                del function.parameters["options"]
                for name, option in pkg["search.api.run_options.GivenOptions"].attributes.items():
                    if name != "code" or "folder" in function.parameters:
                        default = "False" if name == "progress" else "None"
                        function.parameters.add(
                            Parameter(
                                name, annotation=option.annotation, kind=ParameterKind.keyword_only, default=default
                            )
                        )
