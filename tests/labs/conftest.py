"""What the tests of all labs share: their short form, on the nodes of a box."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from boxes import box_or_skip

from ddl_class.clusters.box.box import Box
from ddl_class.labs.command import Marked, mark_folder
from ddl_class.labs.hand_in import ANSWERS, MEASURED
from ddl_runtime.launcher.mpiexec import DETECTOR, fault_tolerance, mpi_family, mpiexec_path

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def box_of() -> Iterator[Callable[[int], Box]]:
    """`box_of(4)`: a box of so many nodes, made once for a file of tests."""
    made: dict[int, Box] = {}

    def get(nodes: int) -> Box:
        if nodes not in made:
            made[nodes] = box_or_skip(f"lab-{os.getpid()}-{nodes}", nodes)
        return made[nodes]

    yield get
    for box in made.values():
        box.down()
        assert not box.folder.exists()


@pytest.fixture(scope="module")
def short_form(
    box_of: Callable[[int], Box], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """`short_form("1_hello_nodes", ranks=4, nodes=2)`: the folder that a lab's program fills."""

    def run(
        lab: str,
        *words: str,
        ranks: int,
        nodes: int,
        survivors: bool = False,
        **predictions: object,
    ) -> Path:
        box, mpiexec = box_of(nodes), mpiexec_path()
        folder = box.folder / "hand_in"
        folder.mkdir()
        fill_in(folder, predictions=predictions)
        start = box.mpi_words(ranks, str(mpiexec), mpi_family(mpiexec))
        start += fault_tolerance(mpiexec) if survivors else []
        program = [box.python, str(ROOT / "labs" / lab / "program.py"), "--short"]
        done = subprocess.run(
            [*start, *program, "--out", str(folder), *words], capture_output=True, text=True,
            env=DETECTOR | os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        kept = tmp_path_factory.mktemp(lab) / "hand_in"
        shutil.move(folder, kept)  # the box's own folder goes with the box
        return kept

    return run


@pytest.fixture(scope="session")
def hand_in() -> Callable[..., Marked]:
    """`hand_in(folder, measured, {"latency": 3.0, "fastest": "ring"})`: these, marked."""

    def marked(folder: Path, measured: object, answers: Mapping[str, object]) -> Marked:
        (folder / MEASURED).write_text(json.dumps(measured))
        fill_in(folder, answers=answers)
        return mark_folder(folder)

    return marked


def fill_in(folder: Path, **parts: Mapping[str, object]) -> None:
    """A form that somebody has filled in; text and numbers look alike in JSON and TOML."""
    lines = []
    for part, said in parts.items():
        lines += [f"[{part}]", *(f"{name} = {json.dumps(value)}" for name, value in said.items())]
    (folder / ANSWERS).write_text("\n".join([*lines, ""]))
