r"""Escapes text for LaTeX, so that it is printed unchanged and no part of it is read as a command.

A character with a LaTeX command becomes this command. Any other character beyond ASCII becomes an argument of
``\skipstacksign``. This command prints the character if the document's fonts have it, and otherwise the character's
number, such as ``<U+4E2D>``.
"""

import re
import unicodedata
from typing import Final

DEFINITIONS: Final = r"""\protected\def\skipstacknumber#1{\texttt{\textless U+#1\textgreater}}
\protected\def\skipstacksign#1#2{%
  \ifdefined\Umathcode
    \iffontchar\font"#2 #1\else\skipstacknumber{#2}\fi
  \else
    \ifcsname u8:\detokenize{#1}\endcsname#1\else\skipstacknumber{#2}\fi
  \fi}"""
"""The definition of ``\\skipstacksign``. LuaTeX and XeTeX can tell whether a font has a character. pdfTeX cannot: it
prints the character if ``inputenc`` defines it.
"""

MATHEMATICS: Final = r"""
± \pm  − -  × \times  · \cdot  ≠ \neq  ≤ \leq  ≥ \geq  ≈ \approx  ∞ \infty  → \rightarrow  ← \leftarrow  › \rangle
‹ \langle  ◆ \diamondsuit  α \alpha  β \beta  γ \gamma  δ \delta  ε \epsilon  ζ \zeta  η \eta  θ \theta  ι \iota
κ \kappa  λ \lambda  μ \mu  ν \nu  ξ \xi  π \pi  ρ \rho  σ \sigma  τ \tau  υ \upsilon  φ \phi  χ \chi  ψ \psi  ω \omega
Γ \Gamma  Δ \Delta  Θ \Theta  Λ \Lambda  Ξ \Xi  Π \Pi  Σ \Sigma  Φ \Phi  Ψ \Psi  Ω \Omega
"""
"""Signs and Greek letters, each followed by its LaTeX command in formulas."""

COMMANDS: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",  # in some languages, babel makes the plain character a command
    "[": "{[}",  # after \\ and \item, a plain bracket would begin an option
    "]": "{]}",
    "*": "{*}",
    "\N{NO-BREAK SPACE}": "~",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\textellipsis{}",
    "†": r"\textdagger{}",
    "²": r"\textsuperscript{2}",
    **{
        sign: f"${command}$" for sign, command in zip(*(MATHEMATICS.split()[first::2] for first in (0, 1)), strict=True)
    },
}
"""The escaped form of each special character."""

ENDS: Final = "/._=,:;-)]}"
"""The characters in paths and lists after which a line may break."""

LONGEST: Final = 24
"""The maximum number of successive characters without a possible line break."""

LIGATURES: Final = re.compile(r"([-,'])(?=\1)")
"""Matches the first of two equal characters that LaTeX would print as one other character."""


def latex_text(text: str, *, code: bool = False) -> str:
    """Escape a text for LaTeX. Successive blanks become one blank. ``code``: whether to use a typewriter font."""
    words = re.split(r"[ \t\n\r]+", unicodedata.normalize("NFC", text))
    written = LIGATURES.sub(r"\1{}", " ".join(map(_word, words)))
    if not code or not written.strip():
        return written
    straight = written.replace("'{}", "'").replace("'", r"\textquotesingle{}")
    return rf"\texttt{{{straight}}}"


def printed_width(text: str) -> int:
    """An upper bound of the printed length of a text, in characters."""
    return sum(map(_width, text))


def _word(word: str) -> str:
    """Escape a word. Long words may break after a character in ``ENDS``, or after ``LONGEST`` other characters."""
    if printed_width(word) <= LONGEST:
        return "".join(map(_character, word))
    parts, since = [], 0
    for place, character in enumerate(word):
        parts.append(_character(character))
        since += _width(character)
        if place + 1 < len(word) and (character in ENDS or since + _width(word[place + 1]) > LONGEST):
            parts.append(r"\allowbreak{}")
            since = 0
    return "".join(parts)


def _character(character: str) -> str:
    if character in COMMANDS:
        return COMMANDS[character]
    if character.isascii():
        return character
    number = f"{ord(character):04X}"
    surrogate = "\ud800" <= character <= "\udfff"  # stands for a byte of a file's name that is not valid text
    return rf"\skipstacknumber{{{number}}}" if surrogate else rf"\skipstacksign{{{character}}}{{{number}}}"


def _width(character: str) -> int:
    """The maximum printed width of a character. Its number is printed if the font lacks the character."""
    return 1 if character.isascii() or character in COMMANDS else len(f"<U+{ord(character):04X}>")
