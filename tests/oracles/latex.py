"""What a file of LaTeX prints, by a small reader of its own: it knows few commands and refuses every other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TOKEN = re.compile(r"\\(?:[A-Za-z]+ ?|.)|.", re.DOTALL)


def batched(text: str) -> Iterator[tuple[str, str]]:
    """Its words two by two."""
    return zip(text.split()[::2], text.split()[1::2], strict=True)


NAMED = r"""
textbackslash \ textasciitilde ~ textasciicircum ^ textbar | textless < textgreater > textasciigrave ` textquotesingle '
textendash – textemdash — textellipsis … textdagger †
"""
SIGNS = {f"\\{sign}": sign for sign in "{}$&#%_"} | {f"\\{name}": sign for name, sign in batched(NAMED)}
FORMULAS = r"""
pm ± times × cdot · neq ≠ leq ≤ geq ≥ approx ≈ infty ∞ rightarrow → leftarrow ← rangle › langle ‹ diamondsuit ◆
alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ
tau τ upsilon υ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω
"""
MATHEMATICS = {"-": "−"} | {f"\\{name}": sign for name, sign in batched(FORMULAS)}
SILENT = {"\\allowbreak", "\\raggedright", "\\small", "\\footnotesize", "\\centering", "\\par", "\\smallskip"}
RULES = {"\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace"}
ENVIRONMENTS = {"document", "table", "tabular", "itemize"}


@dataclass
class Printed:
    """``tables``: of each the rows, of each the cells; ``captions`` of them; ``text``: all around them."""

    tables: list[list[list[str]]] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    text: str = ""


def body(file: str) -> str:
    """What stands between the definitions of a file and its end."""
    _, _, rest = file.partition("\\fi}\n")
    found, end, _ = rest.partition("\\ifskipstackwhole\\else\\expandafter\\endinput\\fi\n")
    assert end, "no end"
    return found


def printed(file: str) -> Printed:
    """What the file prints. Raises AssertionError for what is not well formed, or not known."""
    return _Reader(body(file)).read()


class _Reader:
    def __init__(self, text: str) -> None:
        assert not re.search(r"(?<!\\)%", text), "a comment swallows what follows"
        self.tokens = [token.strip() or " " for token in TOKEN.findall(text)]
        self.place = 0
        self.open: list[str] = []
        self.found = Printed()

    def read(self) -> Printed:
        """Everything, from the first token to the last."""
        while self.place < len(self.tokens):
            self.found.text += self.next()
        assert self.open == []
        return self.found

    def next(self) -> str:
        """What the next token prints, with what belongs to it."""
        token = self.take()
        match token:
            case "{" if self.tokens[self.place + 1] == "}" and self.peek() in "[]":
                return self.raw_group()
            case "{":
                return self.group()
            case "}" | "#" | "_" | "^" | "[" | "]" | "&":
                raise AssertionError(
                    f"{token} stands alone in {''.join(self.tokens[self.place - 30 : self.place + 9])}"
                )
            case "~":
                return "\N{NO-BREAK SPACE}"
            case _ if token in SIGNS:
                return SIGNS[token]
            case "\\begin" | "\\end":
                return self.environment(token, self.argument())
            case "$":
                found = self.take()
                assert self.take() == "$"
                return MATHEMATICS[found]
            case "\\texttt" | "\\textbf" | "\\section*" | "\\subsection*" | "\\textsuperscript":
                found = self.argument()
                return "²" if token == "\\textsuperscript" and found == "2" else found
            case "\\section" | "\\subsection":
                assert self.take() == "*"
                return self.argument()
            case "\\caption":
                self.found.captions.append(self.argument())
                return ""
            case "\\label":
                assert re.fullmatch(r"tab:[A-Za-z0-9-]+", self.raw())
                return ""
            case "\\phantom":
                return " " * len(self.argument())
            case "\\char":
                digits = "".join(iter(lambda: self.take() if self.peek().isdigit() else "", ""))
                return chr(int(digits))
            case "\\skipstacknumber":
                return chr(int(self.argument(), 16))
            case "\\skipstacksign":
                sign, number = self.raw(), self.argument()
                assert sign == chr(int(number, 16))
                return sign
            case "\\parbox":
                assert [self.take() for _ in range(3)] == ["[", "t", "]"]
                self.raw()
                return self.argument()
            case "\\item":
                return "\n"
            case "\\ifskipstackwhole" | "\\fi":
                return ""
            case "\\resizebox":
                raise AssertionError("a box that no table follows")
            case _ if token in SILENT:
                return ""
            case _:
                assert len(token) == 1, f"unknown: {token}"
                assert token.isascii(), f"{token} stands alone"
                return token

    def environment(self, which: str, name: str) -> str:
        """A part that begins or ends."""
        assert name in ENVIRONMENTS, name
        if which == "\\end":
            assert self.open.pop() == name
            return ""
        self.open.append(name)
        if name == "table":
            assert "".join(self.take() for _ in "[!htbp]") == "[!htbp]"
            while self.peek() != "\\resizebox":
                self.next()
            self.tabular()
        return ""

    def tabular(self) -> None:
        """The table in its box: as many cells in each row as it has columns."""
        box = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{"
        assert "".join(self.take() for _ in range(len(TOKEN.findall(box)))) == box
        assert (self.take(), self.raw()) == ("\\begin", "tabular")
        columns = len(re.findall(r"[lr]", self.raw()))
        rows: list[list[str]] = []
        cells, spans = [""], 0
        while self.peek() != "\\end":
            token = self.peek()
            if token in RULES:
                self.take()
            elif token == "\\cmidrule":
                self.take()
                assert "".join(self.take() for _ in "(lr)") == "(lr)"
                self.raw()
            elif token == "\\multicolumn":
                self.take()
                spans += int(self.argument()) - 1
                self.raw()
                cells[-1] += self.argument()
            elif token == "&":
                self.take()
                cells.append("")
            elif token == "\\\\":
                self.take()
                assert self.peek() not in ("[", "*")
                assert len(cells) + spans == columns, cells
                rows.append([cell.strip() for cell in cells])
                cells, spans = [""], 0
            else:
                cells[-1] += self.next()
        self.take()
        assert self.argument() == "tabular"
        assert self.take() == "}"
        self.found.tables.append(rows)

    def take(self) -> str:
        """The next token, which is done with."""
        self.place += 1
        return self.tokens[self.place - 1]

    def peek(self) -> str:
        """The next token."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def argument(self) -> str:
        """What the group that follows prints."""
        assert self.take() == "{"
        return self.group()

    def group(self) -> str:
        """What is printed up to the brace that closes."""
        found = ""
        while self.peek() != "}":
            assert self.peek(), "a group is not closed"
            found += self.next()
        self.take()
        return found

    def raw(self) -> str:
        """The group that follows, as it is written."""
        assert self.take() == "{"
        return self.raw_group()

    def raw_group(self) -> str:
        """What is written up to the brace that closes."""
        depth, found = 1, ""
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token, 0)
            found += token
        return found[:-1]
