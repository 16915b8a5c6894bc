"""Marks lab 8: the medians, pauses and repeated steps of the learner's own diary.

A run that shrank is asked for everything, one that restarted for its pause and its repeated steps.
Medians may be a twentieth off, pauses a tenth: they are read from the diary, not measured anew.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.labs.marking import Contradiction, Mark, number, positive, predicted
from ddl_teach.theory.failures import shrinking_wins_below, young

PREDICTIONS = ("delayed", "lossy", "pause", "again")
HOUR = 3600.0
STEP, RANKS, WORD, BEGAN, SECONDS = range(5)
FEWEST = 5  # steps under a word, for a median
SAY = "Say what you do while you do it: echo {} > hand_in/8_faults/now"


def mark(measured: dict[str, Any], answers: dict[str, Any]) -> list[Mark]:
    """Points for predictions, two for each number."""
    results = measured["results"]
    diary = checked(results, measured["settings"]["steps"])
    pause, again = gap(diary, results)
    restarted = results["way"] == "restart"
    look = "Look at the steps before and after the first one that has fewer ranks."
    if restarted:
        look = "Look where the numbers of the steps go back."
    marks = [number_or_not(answers, "pause", pause, 0.1, look)]
    # Who shrinks begins one step twice, and its diary has it once.
    also = None if restarted else (0, 1)
    marks.append(number_or_not(answers, "again", again, 0, look, also))
    if restarted:
        return marks
    return [*(predicted(measured, name) for name in PREDICTIONS), *links(diary, answers), *marks,
            *formulas(results, pause, answers)]  # fmt: skip


def checked(results: dict[str, Any], steps: int) -> list[list]:
    """The diary, if a training can have written it."""
    diary = results["diary"]
    positive((line[SECONDS] for line in diary), "seconds in the diary")
    positive((line[RANKS] for line in diary), "ranks in the diary")
    begins = [line[BEGAN] for line in diary]
    made = {line[STEP] for line in diary}
    # In the step of a loss others may have been through, and this rank took their weights.
    made |= {step - 1 for step, _ in results.get("losses", []) if step > 0}
    if len(made) != steps or made != set(range(len(made))):
        raise Contradiction(f"the diary does not have all of {steps} steps")
    if begins != sorted(begins):
        raise Contradiction("a step began before the one that stands above it in the diary")
    if any(after[RANKS] > before[RANKS] for before, after in pairwise(diary)):
        raise Contradiction("ranks came back to life")
    return diary


def gap(diary: list[list], results: dict[str, Any]) -> tuple[float | None, int | None]:
    """Seconds from the last step of all ranks to the first after the loss, and the steps done
    twice; nothing where no rank was lost."""
    pairs = list(pairwise(diary))
    if results["way"] == "restart":
        lost = [pair for pair in pairs if pair[1][STEP] <= pair[0][STEP]]
        if not lost and results["attempts"] > 1:  # just after a save: no step was made twice
            lost = [max(pairs, key=lambda pair: pair[1][BEGAN] - pair[0][BEGAN])]
    else:
        lost = [pair for pair in pairs if pair[1][RANKS] < pair[0][RANKS]]
    if not lost:
        return None, None
    before, after = lost[0]
    return after[BEGAN] - before[BEGAN], len(diary) - len({line[STEP] for line in diary})


def links(diary: list[list], answers: dict[str, Any]) -> list[Mark]:
    """What slow and lossy links, or a rank that naps, did to the all-reduce."""
    seconds: dict[str, list[float]] = {}
    for line in diary:
        seconds.setdefault(line[WORD], []).append(line[SECONDS])
    sound = seconds.get("sound", [])
    late, lossy = ("delay", "nap"), ("loss",)
    marks = []
    for name, words in (("delayed", late), ("lossy", lossy)):
        found = next((seconds[word] for word in words if enough(seconds, word)), None)
        right = None if found is None or not sound else np.median(found) / np.median(sound)
        if right is None and name == "lossy" and enough(seconds, "nap"):
            marks.append(Mark(name, 2, 2))  # where links cannot be shaped
        else:
            marks.append(number_or_not(answers, name, right, 0.05, SAY.format(words[0])))
    found = next((seconds[word] for word in ("loss", "nap") if enough(seconds, word)), None)
    right = None if found is None else max(found) / np.median(found)
    marks.append(number_or_not(answers, "tail", right, 0.05, SAY.format("loss")))
    return marks


def enough(seconds: dict[str, list[float]], word: str) -> bool:
    """Whether there are steps under this word for a median."""
    return len(seconds.get(word, [])) >= FEWEST


def formulas(results: dict[str, Any], pause: float | None, answers: dict[str, Any]) -> list[Mark]:
    """Young's interval, and where shrinking stops to win."""
    save, start = positive((results["save"], results["start"]), "save and start")
    every = young(save, HOUR)
    look = "theory.failures.young(save, 3600): the square root of 2 save mean."
    marks = [number(answers, "young", every, within=0.05, of=2, look=look)]
    right = None if pause is None else shrinking_wins_below(4, pause, start, every / 2)
    look = "theory.failures.shrinking_wins_below(4, pause, start, again=half of Young's interval)."
    return [*marks, number_or_not(answers, "wins", right, 0.1, look)]


def number_or_not(
    answers: dict[str, Any], name: str, right: float | None, within: float, look: str,
    also: tuple[float, float] | None = None,
) -> Mark:  # fmt: skip
    """Two points for the number, none where the training was not made to show it."""
    if right is None:
        return Mark(name, 0, 2, f"The diary does not show it. {look}")
    return number(answers, name, float(right), within=within, of=2, look=look, also=also)
