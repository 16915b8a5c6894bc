"""What judges of several units use, in one import."""

from ddl_class.exercises.exercise import Attempt, ProgramOutcome, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import (
    STRANGE,
    array,
    arrays,
    items,
    not_none,
    number,
    numbers,
    seen,
    several,
    short,
    whole,
    whole_rows,
)  # fmt: skip
from ddl_class.exercises.kit.asked import ask, held, judge_seconds, run_ranks
from ddl_class.exercises.kit.compare import AnyOf, alike, compare, equal, shown, why, within
from ddl_class.exercises.kit.texts import Texts, texts

__all__ = [
    "STRANGE", "AnyOf", "Attempt", "ProgramOutcome", "Texts", "Wrong", "alike", "array", "arrays",
    "ask", "compare", "equal", "held", "items", "judge_seconds", "not_none", "number", "numbers",
    "ranks", "ranks_text", "run_ranks", "seen", "several", "short", "shown", "texts", "whole",
    "whole_rows", "why", "within",
]  # fmt: skip
