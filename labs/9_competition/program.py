"""The competition: your program beside the house's, on the same nodes, seed by seed.

    mpiexec -n 2 python labs/9_competition/program.py --set program=ours.py            # here
    ddl-teach box exec head mpiexec -n 4 python labs/9_competition/program.py --set program=ours.py
    cluster_setup/slurm/submit --nodes=4 labs/9_competition/job.sbatch --set program=ours.py

For each of the seeds both train until they are there, in an order that changes. Kept are two
reports: yours is the entry, and the house's says whether it is faster.
"""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import BrokenFile, load_program
from ddl_class.competition.entry import SEEDS, EntryForm, entry_of, read_form
from ddl_class.competition.race import DISCIPLINES, Train, ground, lap
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.reports.file import to_json
from ddl_teach.comm import Comm

HOME = Path(__file__).parent
HOUSE = str(HOME / "house_digits.py")


def competition(comm: Comm, *, program: str, seeds: int) -> dict | None:
    """Race `program` against the house, once for each of the first `seeds`."""
    if not 1 <= seeds <= len(SEEDS):
        raise Mistake(f"seeds={seeds}: 1 to {len(SEEDS)}, and an entry needs all of them")
    train, form = team(program)
    house, its_form = team(str(HOME / f"house_{form.discipline}.py"))
    racers: dict[str, Train] = {"entry": train, "house": house}
    rules, place = DISCIPLINES[form.discipline], ground(comm)
    looks = {name: [] for name in racers}
    for turn, seed in enumerate(SEEDS[:seeds]):
        for name in sorted(racers, reverse=turn % 2 == 1):
            looks[name].append(lap(comm, racers[name], form.discipline, seed))
            first = rules.met(looks[name][-1])
            if comm.rank == 0:
                there = f"there in {first.seconds:.3f} s" if first else "never there"
                print(f"seed {seed}, {name}: {there}", flush=True)
    if comm.rank:
        return None
    found = {}
    for name, its in (("entry", form), ("house", its_form)):
        path = program if name == "entry" else f"house_{form.discipline}.py"
        command = shlex.join(["program.py", "--set", f"program={Path(path).name}"])
        report = entry_of(its, looks[name], comm.size, place, command, SEEDS[:seeds])
        took = report.claims[0].number
        median = f"{took:.3g} s" if math.isfinite(took) else "most never came there"
        print(f"{name}: {report.claims[0].says} Median: {median}")
        found[name] = json.loads(to_json(report))
    return found


def team(program: str) -> tuple[Train, EntryForm]:
    """A team's function, and its form."""
    try:
        train = load_program(f"{program}:train")
    except BrokenFile as error:
        raise Mistake(str(error)) from error
    return train, read_form(train.__globals__.get("FORM"))


LAB = Lab(
    "9_competition",
    competition,
    full={"program": HOUSE, "seeds": len(SEEDS)},
    short={"program": HOUSE, "seeds": 6},
    predictions=(
        Question("house_seconds", "The house needs so many seconds here (the median)."),
        Question("times_faster", "Our program needs so many times less than the house's."),
        Question(
            "shortened",
            "What we have shortened: 'seconds' of an epoch, 'epochs', 'both' or 'neither'?",
            str,
        ),
    ),
    answers=(
        Question("seconds", "The median of our trainings, in seconds."),
        Question("times_faster", "The house's median over ours."),
        Question("fewer_epochs", "The house's epochs to the target over ours, medians."),
        Question(
            "shortened",
            "What we have shortened by a tenth or more: 'seconds' of an epoch, 'epochs', 'both' "
            "or 'neither'?",
            str,
        ),
        Question(
            "verdict",
            "By the 95% intervals we are 'faster' than the house, 'slower', or it 'cannot be "
            "told'?",
            str,
        ),
    ),
)

if __name__ == "__main__":
    main(LAB)
