"""Schedules as files, in the format that torch's pipelines read and write.

A file of comma-separated values: row r is rank r, and each cell one pass, such as 2F0 (`cells` has
the grammar). An empty cell is a step in which the rank waits. So a schedule made here runs in
torch, by `_PipelineScheduleRuntime(...)._load_csv(path)`, and what torch dumps can be checked,
drawn and simulated here. What to look at: open one in a spreadsheet.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from ddl_teach.networks.pipelines.cells import Cell, cells_of, schedule_from
from ddl_teach.networks.pipelines.instructions import Compute
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.validator import InvalidSchedule, validate


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Write what each rank computes as a row; torch adds the messages when it reads them."""
    if schedule.replicas > 1:
        copies = "the format knows one copy of each stage"
        raise ValueError(f"{schedule.name} has {schedule.replicas} replicas, and {copies}")
    rows = [cells(schedule, rank) for rank in range(schedule.ranks)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def cells(schedule: Schedule, rank: int) -> list[str]:
    """What a rank computes, in torch's words: 2F0, or (0F5;3B2)OVERLAP_F_B."""
    texts, first = [], ""
    for word in schedule.computation(rank):
        if not isinstance(word, Compute):
            order = "the format needs the order of all passes"
            raise ValueError(f"{schedule.name}: rank {rank} runs what has arrived, and {order}")
        if word in schedule.overlapped:
            first = str(word)
        else:
            texts.append(f"({first};{word})OVERLAP_F_B" if first else str(word))
            first = ""
    return texts


def read_schedule(path: str | Path) -> Schedule:
    """The schedule that stands in a file, named as the file is. What cannot be carried out is
    refused, with row and column as a spreadsheet counts them, from 1."""
    path = Path(path)
    with path.open(newline="", encoding="utf-8") as file:
        texts = list(csv.reader(file))

    def place(rank: int, number: int) -> str:
        return f"{path.name}, row {rank + 1} (rank {rank}), column {number + 1}"

    rows = cells_of(texts, place)
    for rank, row in enumerate(rows):
        if not any(cell.passes for cell in row):
            empty = f"{path.name}, row {rank + 1} (rank {rank}) has no pass"
            raise ValueError(f"{empty}: give the rank a stage, or take the row out")
    if not rows:
        raise ValueError(f"{path.name} is empty: write a row of passes for each rank")
    schedule = schedule_from(path.stem, rows)
    try:
        validate(schedule)
    except InvalidSchedule as error:
        lines = [_place(rows[rank], schedule.orders[rank][:at]) for rank, at in error.places]
        raise InvalidSchedule("\n".join([str(error), *lines]), error.places) from error
    return schedule


def _place(row: list[Cell], before: Sequence[object]) -> str:
    """Where the cell stands that the instruction after these belongs to, or the last one."""
    places = [cell.place for cell in row for _ in cell.passes]
    return places[min(sum(isinstance(word, Compute) for word in before), len(places) - 1)]
