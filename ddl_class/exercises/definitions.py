"""`definition("parameter_server")`: an algorithm on one screen, to compare with one's own answer.

It is the file of `ddl_teach.plain`, folded in a notebook until the learner opens it. Many of these
files answer an exercise: they are shown when it is solved.
"""

import html
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


ANSWERS = {
    "ring_allreduce": "06.ring",
    "recursive_doubling": "06.recursive_doubling",
    "rabenseifner": "06.rabenseifner",
    "tree_broadcast": "",
    "two_level_allreduce": "20.exchange",
    "sparse_allreduce": "16.sparse_sum",
    "direct_convolution": "",
    "im2col": "02.im2col",
    "fft_convolution": "02.fft",
    "winograd": "02.winograd",
    "micro_batches": "03.divide",
    "wavefront": "04.wavefronts",
    "data_parallel": "08.average",
    "buckets": "08.overlap",
    "tensor_parallel": "09.pair_gradients",
    "product_3d": "",
    "halo": "09.give_back",
    "gpipe": "10.gpipe",
    "one_f_one_b": "10.one_f_one_b",
    "message_driven": "10.message_driven",
    "sharded_optimizer": "11.states",
    "ring_attention": "",
    "experts": "",
    "synchronous_sgd": "08.average",
    "parameter_server": "15.server",
    "asynchronous_server": "14.bounded",
    "stale_synchronous": "14.bounded",
    "backup_workers": "14.bounded",
    "hogwild": "14.lockfree",
    "local_sgd": "14.local",
    "elastic_averaging": "14.elastic",
    "gossip": "15.mix",
    "top_k_error_feedback": "16.feedback",
    "one_bit": "16.one_bit",
    "qsgd": "16.quantise",
    "successive_halving": "17.halving",
    "population_based": "17.exploit",
    "distillation": "17.distil",
    "checkpoint_agreement": "20.agree",
}
"""Of each file of `ddl_teach.plain` the exercise that it answers, or "": it is shown when that is
solved."""

COMPARE = {
    "direct_convolution": "Compare it with `by_definition`: `einsum` hides the same seven loops, "
    "one for each letter.",
    "im2col": "Compare it with yours: how many loops over pixels are left, and which numbers are "
    "copied? It has no stride, and it multiplies as well.",
    "fft_convolution": "Compare it with yours: where is the filter filled up with zeros, where "
    "is the conjugate, and which outputs are cut off?",
    "winograd": "Compare it with yours: it goes from tile to tile. When does each of the three "
    "transforms happen, and how often?",
    "gpipe": "Compare it with yours: its first loop is your words with F, its second those with "
    "B. Before and after each pass stand the messages that the library wrote in for you.",
    "one_f_one_b": "Compare `schedule` with yours: how far does a stage run ahead, and what if "
    "there are fewer micro-batches than that? `step` carries it out.",
    "message_driven": "Compare it with yours: it asks for a message from each neighbour and "
    "takes the one that comes first, where you received from `ANY`.",
    "parameter_server": "Compare `serve` with yours: what is added up, and when does the first "
    "worker get its answer? Here the server also keeps the weights and makes the steps.",
    "stale_synchronous": "Compare `serve` with yours: who waits, and which workers does one "
    "gradient free?",
    "hogwild": "Compare its loop with your events: which line reads the weights, and which one "
    "writes?",
    "local_sgd": "Compare it with yours: when do the workers take the mean, and of what?",
    "elastic_averaging": "Compare it with yours: here a server keeps the one centre, and answers "
    "the workers one by one. Yours moved all copies of the centre at once.",
    "gossip": "Compare `mix` with yours: the matrix is that of a ring. Where are its weights of "
    "one third, and when does it wait for its sends?",
}
"""Where a unit shows it: what to compare with one's own."""


def definition(name: str, *, anyway: bool = False) -> None:
    """Show an algorithm on one screen, folded; `anyway` also before its exercise is solved."""
    exercise = _answered(name)
    solved = record.read()["exercises"].get(exercise, {}).get("solved", False)
    if exercise and not anyway and not solved:
        print(f"Solve {exercise} first: this is an answer to it. To see it at once, call")
        print(f'    definition("{name}", anyway=True)')
        return
    source = (Path(plain.__path__[0]) / f"{name}.py").read_text(encoding="utf-8").strip()
    show(Definition(name, COMPARE.get(name, ""), source))


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
        above = f"<p>{_with_code(self.compare)}</p>\n" if self.compare else ""
        page = (
            f"{above}<details><summary>{html.escape(self.title)}</summary>\n"
            f'<pre tabindex="0" style="{LINES}">{_coloured(self.source)}</pre>\n</details>'
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


def _with_code(sentence: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    parts = enumerate(html.escape(sentence).split("`"))
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in parts)


def _coloured(source: str) -> str:
    """Python as HTML."""
    pieces = []
    for kind, text in lex(source, PythonLexer()):
        colour = next((COLOURS[wide] for wide in COLOURS if kind in wide), "")
        text = html.escape(text)
        pieces.append(f'<span style="color: {colour}">{text}</span>' if colour else text)
    return "".join(pieces)
