"""Hints: the first points the way, the second nearly says it.

Asking is recorded, so that a teacher sees where a lesson is hard; it costs nothing.
"""

from __future__ import annotations

from ddl_class.exercises import record
from ddl_class.exercises.registry import find_exercise
from ddl_runtime.diagnosis.page import paragraphs


def hint(name: str) -> None:
    """Print the hints for an exercise: one more each time it is asked."""
    hints = find_exercise(name).hints
    with record.changing() as kept:
        known = record.of(kept, "exercises", name)
        seen = known.get("hints", 0)
        known["hints"] = min(seen + 1, len(hints))
    shown = hints if seen >= len(hints) else hints[: seen + 1]
    for number, text in enumerate(shown, start=1):
        print(paragraphs(f"Hint {number} of {len(hints)}: {text}"))
    if len(shown) < len(hints):
        print(f'Try with that first. Then hint("{name}") says more.')
