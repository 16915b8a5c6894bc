"""The judges of unit 11, second part: which activations to keep and which to compute again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import not_none
from ddl_teach.theory.checkpointing import Chain, equal_stretches, layers_of, peak

LETTERS = 70  # of a plan that are shown


def judge_stretches(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Each layer twice at most, and as little held as equal stretches allow."""
    for layers in (9, 16, 100, 1, 2, *map(int, generator.integers(3, 150, 5))):
        call = f"stretches({layers})"
        plan = _plan(stage.call(layers), layers, call)
        chain = Chain.even(layers)
        if any(
            isinstance(inner, list) for step in plan if isinstance(step, list) for inner in step
        ):
            raise Wrong(
                f"{call} has lists in lists: such layers are computed three times. One level of "
                "stretches is asked."
            )
        if len(plan) > 1 and all(isinstance(step, list) for step in plan):
            raise Wrong(
                f"{call}: the last stretch need not be forgotten. The backward pass begins with "
                "it, and would compute it again at once. Keep its layers: [[0, 1], [2, 3], 4, 5]."
            )
        right = min(peak(equal_stretches(layers, many), chain) for many in range(1, layers + 1))
        held = peak(plan, chain)
        if held <= right:
            continue
        told = f"{call} holds {held} activations at most, and {right} are possible."
        if all(isinstance(step, int) for step in plan):
            raise Wrong(
                f"{told} You keep everything: put brackets around what is to be forgotten."
            )
        if len(plan) == 1:
            raise Wrong(
                f"{told} You forget everything at once; then the backward pass needs everything "
                "at once. Cut it into stretches."
            )
        raise Wrong(
            f"{told} With k stretches one holds k - 1 inputs and the L / k layers of one stretch: "
            "take k near the square root of L, and stretches that are as equal as can be."
        )


def _plan(said: Any, layers: int, call: str) -> list[Any]:
    """What a learner returned, as a plan of so many layers."""
    plan = _lists(not_none(said, f"{call}: return a plan"))
    if plan is None:
        raise Wrong(
            f"{call}: a plan is a list of layers and of lists of layers, such as [[0, 1], 2, 3], "
            f"not {str(said)[:LETTERS]}."
        )
    found = layers_of(plan)
    if found != list(range(layers)):
        missing = sorted(set(range(layers)) - set(found))
        if missing:
            told = f"layer {missing[0]} is not in it"
        elif len(found) > layers:
            told = "some layer is in it twice, or does not exist"
        else:
            told = "the layers are not in their order"
        raise Wrong(
            f"{call}: {_short(plan)}: {told}. Without its brackets a plan counts from 0 to "
            f"{layers - 1}."
        )
    return plan


def _lists(said: Any, depth: int = 60) -> list[Any] | None:
    """Plain lists of plain numbers, or None where that is not what it is."""
    if not isinstance(said, (list, tuple, np.ndarray, range)) or depth == 0:
        return None
    plan: list[Any] = []
    for step in said:
        if isinstance(step, (int, np.integer)) and not isinstance(step, (bool, np.bool_)):
            plan.append(int(step))
            continue
        inner = _lists(step, depth - 1)
        if inner is None:
            return None
        if inner:
            plan.append(inner)
    return plan


def _short(plan: list[Any]) -> str:
    text = str(plan)
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} ..."
