"""The pages of the documentation: their blocks of code, and the commands in them."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    def blocks(self, language: str) -> list[str]:
        return [code for own, code in BLOCK.findall(self.text) if own == language]

    def script(self, having: str) -> str:
        """Return the block of Python that contains this text."""
        (found,) = (block for block in self.blocks("python") if having in block)
        return found

    @property
    def commands(self) -> list[str]:
        return [line for block in self.blocks("sh") for line in block.splitlines()]

    @property
    def files(self) -> dict[str, str]:
        """The study and code files that the page prints, by the names in their first lines."""
        named = [block for language in ("yaml", "python") for block in self.blocks(language) if block.startswith("# ")]
        return {block.splitlines()[0].removeprefix("# "): block for block in named}


README = Page(ROOT / "README.md")
CONTRIBUTING = Page(ROOT / "CONTRIBUTING.md")
FRONT = Page(ROOT / "docs" / "README.md")
"""The first page of the site."""
TYPED = [README, *map(Page, sorted(GUIDE.glob("*.md")))]
"""The pages whose commands are run by tests."""
FURTHER = [path for folder in ("decisions", "reference") for path in sorted((ROOT / "docs" / folder).glob("*.md"))]
PUBLIC = [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *sorted((ROOT / ".github").rglob("*.md"))]
"""What a public host shows."""
WRITTEN = [*TYPED, CONTRIBUTING, FRONT, Page(ROOT / "docs" / "calibration.md"), *map(Page, [*FURTHER, *PUBLIC])]
"""All pages that are written by hand, hence without ``fields.md``."""
