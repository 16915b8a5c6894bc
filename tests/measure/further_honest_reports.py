"""Honest reports from other laboratories: nothing is to be found in them."""

import numpy as np
from further_reports import (
    HALOS,
    PICTURES,
    TEXT,
    answering,
    answers,
    beside_a_straggler,
    cable,
    cables,
    checkpointed,
    claim,
    compared,
    compressed,
    entry,
    halos,
    language,
    large_batch,
    powered,
    rates,
    report,
    searcher,
    searches,
    stragglers,
    times,
    trained,
)

from ddl_measure.reports.report import Target

ONE, FOUR = language("1 accelerator", 1, 41_000, 1), language("4 accelerators", 4, 139_000, 2)
ALL_KEPT = checkpointed("everything kept", 36, 9.1e9, 0.31, 5)
SIXTH_KEPT = checkpointed("every sixth kept", 6, 2.4e9, 0.41, 6)
DENSE, TOP = (
    compressed("dense", "dense", 4e6, 0.961, 20),
    compressed("top", "top-k", 8e4, 0.939, 21),
)
LOST = float(np.median(TOP.series[1].values) - np.median(DENSE.series[1].values))
FAST, SLOW = powered("2.4 GHz", 5200, 40, 70), powered("1.6 GHz", 4100, 57, 74)
SMALL, LARGE = large_batch("batch 64", 64, 400, 80), large_batch("batch 1024", 1024, 90, 82)


def loader(name, workers, rate, seed):
    parts = ("reading", "decoding", "augmentation")
    return entry(name, {"workers": workers, "cache": "cold"}, [
        times("samples a second", "an epoch", rates(rate, 11, seed), parts)],
        cores=workers, shape=(3, 32, 32))  # fmt: skip


HONEST = {it.title: it for it in (
    trained("a language model, in tokens", [ONE, FOUR], [
        compared("tokens a second", ONE, FOUR, kind="one rank", scaling="strong")], data=TEXT),
    report("reading pictures", [loader("1 worker", 1, 410, 3), loader("8 workers", 8, 2300, 4)], [
        claim("8 workers read 5.6 times as many pictures.", "input", "samples a second",
              "an epoch", None, ("8 workers",), "1 worker", "previous version",
              scaling="strong")], data=PICTURES),
    report("memory for time", [ALL_KEPT, SIXTH_KEPT], [
        compared("bytes held", ALL_KEPT, SIXTH_KEPT, of="a step"),
        compared("seconds", ALL_KEPT, SIXTH_KEPT, "And takes longer.", of="a step")],
        data=PICTURES, trials=()),
    stragglers("beside a straggler, one of nine never there",
               beside_a_straggler("synchronous", "synchronous", 40, 7),
               beside_a_straggler("stale, bound 4", "stale 4", 14, 9, never=1), number=2.8),
    trained("fewer bytes, a little worse", [DENSE, TOP], [
        compared("bytes sent", DENSE, TOP, of="a step", accuracy_change=LOST)]),
    searches("two searches of one budget", searcher("random", 0.134, 30),
             searcher("halving", 0.081, 31)),
    answers("the slowest answers of a pruned network", answering("dense", 0.0, 0.0042, 0.912, 40),
            answering("pruned", 0.9, 0.0027, 0.911, 42), "percentile 99"),
    cables("one cable, two libraries", cable("A", 1.12e10, 50), cable("B", 1.121e10, 51), 1.0),
    halos("sixteen ranks are slower than four", HALOS, ("4 ranks", "16 ranks")),
    trained("slower clocks use less energy", [FAST, SLOW], [
        compared("joules", FAST, SLOW), compared("seconds", FAST, SLOW, "And takes longer.")]),
    trained("fewer steps are more epochs", [SMALL, LARGE], [
        compared("steps to target", SMALL, LARGE), compared("epochs to target", SMALL, LARGE)],
        target=Target(0.93, "held out", "before")),
)}  # fmt: skip
