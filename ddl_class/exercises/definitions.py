"""`definition("parameter_server")`: an algorithm on one screen, to compare with one's own answer.

It is the file of `ddl_teach.plain`, folded in a notebook until the learner opens it. Many of these
files answer an exercise: they are shown when it is solved.
"""

import html
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from IPython.display import display
from pygments import lex
from pygments.lexers import PythonLexer
from pygments.token import Token

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import record
from ddl_runtime.diagnosis.page import paragraphs
from ddl_teach import plain

show: Callable[[object], object] = display  # which IPython gives no types

# JupyterLab's own colours, which follow its theme; elsewhere dark ones for a white page.
COLOURS = {
    Token.Keyword: "var(--jp-mirror-editor-keyword-color, #006000)",
    Token.Operator.Word: "var(--jp-mirror-editor-keyword-color, #006000)",
    Token.Name.Function: "var(--jp-mirror-editor-def-color, #00007f)",
    Token.Literal.String.Doc: "",  # prose, which is most of a file's text
    Token.Literal.String: "var(--jp-mirror-editor-string-color, #8f1d1d)",
    Token.Literal.Number: "var(--jp-mirror-editor-number-color, #00529b)",
    Token.Comment: "var(--jp-mirror-editor-comment-color, #2f5f5f)",
}

# JupyterLab would break lines in the middle of a word.
LINES = "white-space: pre; word-break: normal; overflow-x: auto"

with Path(__file__).with_suffix(".toml").open("rb") as file:
    TABLE: dict[str, dict[str, str]] = tomllib.load(file)
ANSWERS = {name: entry.get("answers", "") for name, entry in TABLE.items()}
COMPARE = {name: " ".join(entry.get("compare", "").split()) for name, entry in TABLE.items()}


def definition(name: str, *, anyway: bool = False) -> None:
    """Show an algorithm on one screen, folded; `anyway` also before its exercise is solved."""
    exercise = _answered(name)
    solved = record.read()["exercises"].get(exercise, {}).get("solved", False)
    if exercise and not anyway and not solved:
        print(f"Solve {exercise} first: this is an answer to it. To see it at once, call")
        print(f'    definition("{name}", anyway=True)')
        return
    source = (Path(plain.__path__[0]) / f"{name}.py").read_text(encoding="utf-8").strip()
    show(Definition(name, COMPARE[name], source))


@dataclass(frozen=True)
class Definition:
    """A file of `ddl_teach.plain`: folded in a notebook, plain text in a terminal."""

    name: str
    compare: str
    source: str

    @property
    def title(self) -> str:
        return f"{self.name} on one screen: ddl_teach/plain/{self.name}.py"

    def __str__(self) -> str:
        above = [self.title, *filter(None, [paragraphs(self.compare)])]
        return "\n".join([*above, "", self.source])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        parts = enumerate(html.escape(self.compare).split("`"))  # between them stands code
        compare = "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in parts)
        above = f"<p>{compare}</p>\n" if self.compare else ""
        source = ""
        for kind, text in lex(self.source, PythonLexer()):
            colour = next((COLOURS[wide] for wide in COLOURS if kind in wide), "")
            piece = html.escape(text)
            source += f'<span style="color: {colour}">{piece}</span>' if colour else piece
        page = (
            f"{above}<details><summary>{html.escape(self.title)}</summary>\n"
            f'<pre tabindex="0" style="{LINES}">{source}</pre>\n</details>'
        )
        return {"text/html": page, "text/plain": str(self)}


def _answered(name: str) -> str:
    """The exercise that a definition answers, if any."""
    if name in ANSWERS:
        return ANSWERS[name]
    close = [known for known, exercise in ANSWERS.items() if exercise == name]
    close = close or get_close_matches(str(name).lower(), ANSWERS, n=3, cutoff=0.6)
    meant = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    known = ", ".join(ANSWERS)
    raise Mistake(paragraphs(f"no definition is called {name!r}. {meant}There are {known}."))
