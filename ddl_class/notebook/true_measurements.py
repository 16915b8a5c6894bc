"""The true measurements behind the twelve ways, as they were recorded; or a learner's own.

They are a report like any other (measure.reports), made by `python -m benchmarks.twelve_ways`,
with the machine, the code and the date in it. What a notebook reads belongs to the package, in the
folder `recorded`: a notebook that was handed out has no checkout of the course beside it.
"""

from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_measure.reports.file import load
from ddl_measure.reports.report import Report

RECORDED = Path(__file__).resolve().parent / "recorded" / "twelve_ways.json"


def true_measurements(path: Path | str = RECORDED) -> Report:
    """The report in the file `path`; an error says how to make one."""
    try:
        return load(path)
    except FileNotFoundError:
        raise Mistake(
            f"There is no {path}. In a clone of the course, "
            "'python -m benchmarks.twelve_ways --out FILE.json' measures for ten minutes and "
            "makes one; then true_measurements('FILE.json') reads it."
        ) from None
