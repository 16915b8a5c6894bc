"""A judge that is a table: what is asked, what is right, what usual mistakes give, as formulas.

    [exercises.asks]
    cases = [[7, 4, 0], [11, 4, 1]]          # what the function is called with, call by call
    right = "max(0, ticket // per_step - bound)"

    [exercises.asks.mistakes]                # their words stand in [exercises.says]
    below_zero = "ticket // per_step - bound"

A formula is an expression of Python. It knows the function's parameters by their names, `np` and
`math`, what judges share, and `draw`, where random numbers come from. `of` gives the values of a
case other names; `once` and `where` are tables of further names, for all cases and for each.
`refused` has what is refused before anything is compared, and there `result` is the answer.

Where the function runs on ranks, `given` is a list with each rank's arguments. Then `right` and
the mistakes are computed for each `rank`, as is `value`, what is compared, and the names in
`on_rank`. `sent` has how many messages, or bytes, are enough for each rank; the text
"fewer_messages" or "fewer_bytes" says how, or else "advice". Without `right` what is wrong is
what is `refused`. A puzzle has a `network`, and a `goal` in seconds for the last case.
"""

import builtins
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import numpy as np

from ddl_class.exercises import kit
from ddl_class.exercises.exercise import Attempt, ProgramOutcome
from ddl_class.exercises.kit import Texts, Wrong, ranks
from ddl_class.exercises.kit.asked import ask, held, judge_seconds, run_ranks
from ddl_runtime.topologies.point_to_point import Uniform

SHARED = {
    "__builtins__": builtins,
    "np": np,
    "math": math,
    "itertools": itertools,
    "Uniform": Uniform,
} | {name: getattr(kit, name) for name in kit.__all__}
Formulas = Mapping[str, str]


@dataclass(frozen=True)
class FormulaJudge:
    """What the table says; `cases` may be a formula, too."""

    says: Texts
    package: str  # of the unit
    cases: Any
    right: str = ""
    mistakes: Formulas = field(default_factory=dict)
    of: Sequence[str] = ()
    uses: Sequence[str] = ()  # further functions and the like; ".judges.sent" is the unit's own
    once: Formulas = field(default_factory=dict)
    where: Formulas = field(default_factory=dict)
    given: str = ""
    refused: Formulas = field(default_factory=dict)
    names: Sequence[str] = ()  # of the parts of an answer
    read: str = "None"
    same: str = "alike"
    causes: Formulas = field(default_factory=dict)
    on_rank: Formulas = field(default_factory=dict)
    value: str = "result"  # or one of the `arguments`, as they were left
    at_the_end: Formulas = field(default_factory=dict)  # refused where the numbers are right
    sent: Formulas = field(default_factory=dict)  # of messages, of bytes
    network: str = "Uniform()"
    goal: float = math.inf  # seconds, of a puzzle

    def __call__(self, attempt: Attempt) -> None:
        known = SHARED | {"draw": attempt.generator, "counts": attempt.counts}
        for name in self.uses:
            whole = self.package + name if name.startswith(".") else name
            known[name.rpartition(".")[2]] = resolve_name(whole)
        _add(known, self.once)
        parameters = self.says.parameters
        on_ranks = "comm" in parameters
        not_shown = {*known} if on_ranks else {*known, *parameters}
        cases = _value(self.cases, known) if isinstance(self.cases, str) else self.cases
        for case in cases:
            values = case if isinstance(case, list | tuple) else [case]
            names = known | dict(zip(self.of or parameters, values, strict=True))
            _add(names, self.where)
            shown = {name: names[name] for name in names if name not in not_shown}
            outcome = (self._judge_ranks if on_ranks else self._judge_call)(attempt, names, shown)
        if outcome and math.isfinite(self.goal):
            judge_seconds(attempt, self.says, outcome.time, self.goal, ranks.lent(outcome))

    def _judge_call(self, attempt: Attempt, names: dict[str, Any], shown: dict[str, Any]) -> None:
        """`shown` is what texts may show beside the parameters."""
        given = _value(self.given or f"[{', '.join(self.says.parameters)}]", names)
        names["right"] = right = _value(self.right, names)
        same, read = _value(self.same, names), _value(self.read, names)
        answer = ask(
            attempt, self.says, given, right, same=same, names=self.names, read=read, **shown
        )
        names["result"] = answer.result
        known = {**answer.known, "result": answer.result}
        self.says.refuse_if(known, **_each(self.refused, names))
        answer.compare(**_each(self.mistakes, names))

    def _judge_ranks(
        self, attempt: Attempt, names: dict[str, Any], shown: dict[str, Any]
    ) -> ProgramOutcome:
        """The outcome of the run, whose results are compared rank by rank."""
        usual = self.says.each(shown, **_each(self.causes, names)) if self.causes else None
        given, network = _value(self.given, names), _value(self.network, names)
        call, outcome = run_ranks(attempt, self.says, given, usual, network, **shown)
        same, read = _value(self.same, names), _value(self.read, names)
        for rank, arguments in enumerate(outcome.arguments):
            names |= {"rank": rank, "arguments": arguments, "result": outcome.results[rank]}
            for before, after in zip(given[rank], arguments, strict=True):
                if isinstance(before, np.ndarray) and np.shape(after) != before.shape:
                    raise Wrong(
                        f"{call}: on rank {rank} an array of shape {before.shape} has the shape "
                        f"{np.shape(after)} afterwards. Change its numbers, and leave its shape."
                    )
            values = shown | _add(names, self.on_rank)
            known: Mapping[str, Any] = {"call": call, "rank": rank} | values
            if self.right:
                names["right"] = right = _value(self.right, names)
                answer = held(
                    self.says, call, rank, _value(self.value, names), right,
                    same=same, names=self.names, read=read, **values,
                )  # fmt: skip
                names["result"], known = answer.result, answer.known
            self.says.refuse_if(known, **_each(self.refused, names))
            if self.right:
                answer.compare(**_each(self.mistakes, names))
        for of, enough in self.sent.items():
            advice = self.says(f"fewer_{of}" if f"fewer_{of}" in self.says else "advice")
            ranks.judge_sent(call, outcome, _value(enough, names), advice, of)
        for rank, ledger in enumerate(outcome.ledger):
            names |= {"rank": rank, "ledger": ledger}
            self.says.refuse_if({"call": call, **names}, **_each(self.at_the_end, names))
        return outcome


def _value(formula: str, names: dict[str, Any]) -> Any:
    """What a formula gives; its errors say which one it was."""
    try:
        return eval(formula, names)
    except Exception as error:
        error.add_note(f"in the formula: {formula}")
        raise


def _each(formulas: Formulas, names: dict[str, Any]) -> dict[str, Any]:
    return {text: _value(formula, names) for text, formula in formulas.items()}


def _add(names: dict[str, Any], formulas: Formulas) -> dict[str, Any]:
    """Name what the formulas give, and return it; "left, right" are names of two things."""
    added: dict[str, Any] = {}
    for name, formula in formulas.items():
        value, several = _value(formula, names), name.split(", ")
        added |= zip(several, value, strict=True) if len(several) > 1 else {name: value}
        names |= added
    return added
