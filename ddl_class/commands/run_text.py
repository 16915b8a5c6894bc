"""A run as a few lines of text: results, time and what every rank sent."""

from __future__ import annotations

from statistics import median

from ddl_runtime.records.run import Run

SHOWN = 8  # ranks listed one by one before the rest is only counted
WIDTH = 88  # of one rank's result


def describe_run(run: Run, ground: str) -> str:
    """Return what a learner wants to see of ``run``; ``ground`` says on what it ran."""
    messages = [ledger.messages_sent for ledger in run.ledger]
    sent = [ledger.bytes_sent for ledger in run.ledger]
    table = [
        ("sent per rank", "minimum", "median", "maximum"),
        ("messages", *map(_number, _spread(messages))),
        ("bytes", *map(_number, _spread(sent))),
    ]
    lines = [ground, *_results(run), f"time: {_seconds(run.time)}", ""]
    lines += [f"{row[0]:<14}" + "".join(f"{cell:>16}" for cell in row[1:]) for row in table]
    return "\n".join(lines)


def _results(run: Run) -> list[str]:
    texts = [_shortened(result) for result in run.results]
    if run.ranks > 1 and len(set(texts)) == 1:
        return [f"every rank returned {texts[0]}"]
    few = run.ranks <= SHOWN + 2
    listed = range(run.ranks) if few else [*range(SHOWN), run.ranks - 1]
    lines = [f"rank {rank}: {texts[rank]}" for rank in listed]
    if not few:
        lines.insert(SHOWN, f"... {run.ranks - SHOWN - 1} more ranks ...")
    return lines


def _shortened(result: object) -> str:
    text = " ".join(repr(result).split())
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 4]} ..."


def _spread(numbers: list[int]) -> tuple[float, float, float]:
    return min(numbers), median(numbers), max(numbers)


def _number(amount: float) -> str:
    return f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.1f}"


def _seconds(time: float) -> str:
    if time == 0:
        return "0 s"
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, size = next((pair for pair in units if pair[1] <= time), units[-1])
    return f"{time / size:.4g} {unit}"
