"""How much a newcomer opens: the size of each package, and what stands behind each algorithm.

    python -m tests.reading_cost

For each file of `plain` the second table counts what its product opens: every file of the packages
that the product imports, directly or through others, but for the runtime, `theory` and `plain`.
`test_ratchets.py` holds the sums of both tables.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from book.plain_files import PRODUCTS
from tests import house

NOT_COUNTED = ("ddl_runtime", "ddl_teach.comm", "ddl_teach.theory", "ddl_teach.plain")


@dataclass(frozen=True)
class Cost:
    """What one product opens."""

    plain: str
    product: str
    files: int
    lines: int


@cache
def lines_of(name: str) -> int:
    """The lines of one file of the packages."""
    return len(house.modules()[name].path.read_text().splitlines())


def sizes() -> dict[str, int]:
    """The lines of each package."""
    packages = {name.split(".")[0] for name in house.modules()}
    return {
        package: sum(lines_of(name) for name in house.modules() if name.split(".")[0] == package)
        for package in sorted(packages)
    }


def costs() -> Iterator[Cost]:
    """What stands behind each algorithm, in the order of `plain`."""
    for plain, product in PRODUCTS.items():
        opened = opens(f"ddl_teach.{product}")
        yield Cost(plain, product, len(opened), sum(map(lines_of, opened)))


def opens(first: str) -> set[str]:
    """A file and all that it imports; the faces of folders count if they hold more than names."""
    opened: set[str] = set()
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name not in opened and not name.startswith(NOT_COUNTED) and name != "ddl_teach":
            opened.add(name)
            waiting += house.imports(house.modules()[name])
    return opened


def main() -> None:
    """Print both tables."""
    counts = sizes()
    for package, count in counts.items():
        print(f"{package:<14} {count:>7,} lines")
    print(f"{'together':<14} {sum(counts.values()):>7,} lines\n")
    table = list(costs())
    print(f"{'algorithm':<22} {'product':<44} files  lines")
    for cost in table:
        print(f"{cost.plain:<22} {cost.product:<44} {cost.files:>5} {cost.lines:>6}")
    files, lines = [cost.files for cost in table], [cost.lines for cost in table]
    print(f"{'median':<67} {statistics.median(files):>5g} {statistics.median(lines):>6g}")
    print(f"{'most':<67} {max(files):>5} {max(lines):>6}")


if __name__ == "__main__":
    main()
