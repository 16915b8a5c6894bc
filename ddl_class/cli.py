"""The command-line tool: what people do outside a notebook.

It ends with 0 when all went well, 1 when the program failed, the doctor found a failure or a
recipe missed its target, 2 when what was typed cannot be done.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import listing
from ddl_class.commands.words import command_line
from ddl_class.labs.options import PROGRAM_WORDS
from ddl_teach.fault_tolerance.again import CRASHES

MISTAKEN, INTERRUPTED = 2, 130

ABOUT = "Run rank programs, check this machine, open the course."
PAGES = f"""
= run: commands.run_program:run_program
run a rank program on real MPI processes or on simulated ranks
  program FILE.py:FUNCTION
  --ranks N              real MPI processes (default: 4)
  --simulate N           simulated ranks, in virtual time, instead
  --box [NAME = box]     on nodes of a box
  --network NETWORK      with --simulate: one of those listed below
  --threads              with --simulate: a thread a rank, for collectives in torch's backward
  --torch                the program is a script of torch's, FILE.py alone, as torchrun takes it
  --argv WORDS           what such a script is given, in quotes
  --timeout SECONDS      stop it after so long (default: 60, and 600 with --simulate)
  --arg NAME=VALUE ...   an argument; repeatable
  --device-path WAY      arrays on devices go that way
  --plot FILE.png        draw the timeline
  --trace FILE.json      save the timeline for ui.perfetto.dev; as FILE.goal for LogGOPSim, as
                         FILE.et, a file a rank, for what reads Chakra's execution traces

Run a function whose first argument is a communicator, once on every rank.

examples:
  ddl-teach run program.py:main --ranks 4
  ddl-teach run program.py:main --ranks 2 --arg size=1000 --arg algorithm=ring
  ddl-teach run program.py:main --ranks 4 --plot timeline.png --trace timeline.json
  ddl-teach run program.py:main --simulate 4096 --network uniform:latency=1us,bandwidth=10GB/s
  ddl-teach run train.py --torch --simulate 64 --argv="--epochs 1"

networks and their settings (times in s, ms, us, ns; bandwidths in GB/s, Gbit/s and the like):
{listing()}
= plan: commands.plan_command:plan
plan a training of a transformer: grid, memory, time, price, carbon
  model MODEL            a published one, or layers,hidden,heads,inner,vocabulary
  --gpus N = ?
  --device A100|H100|H800|H200|B200|MI300X = H100
  --batch N = 2048       texts in a step
  --sequence N = 8192    words of a text
  --precision bf16|fp8 = bf16
  --fused                kernels are compiled together
  --hold NAME=VALUE ...  only plans with this, tensor=8 for instance; repeatable
  --show N = 5           so many grids
  --words NUMBER         the whole training: days, dollars, energy, carbon
  --price NUMBER = 2     dollars of an accelerator's hour
  --pue NUMBER = 1.1     of the building
  --grams NUMBER = 429   CO2 of a kWh

Compute all plans and explain the fastest line by line.

examples:
  ddl-teach plan llama3-405b --gpus 16384 --words 15.6e12
  ddl-teach plan gpt3-175b --gpus 1024 --device A100 --sequence 2048 --batch 1536
  ddl-teach plan 48,8192,64,32768,51200 --gpus 512 --hold tensor=8 --hold pipeline=2
= doctor: doctor.whole_class:doctor
check this machine, or a class's accounts, and say how to mend what is wrong
  --out FILE.json        keep the findings, too
  --class FILE > those   the accounts of this file, or the findings in this folder, on one page
  --by sudo|ssh|slurm    how to enter an account
  --accounts FILE        who should have sent in
  --page FILE.html       the class as a page, too
  --at-once N = 4        accounts at a time

Check Python, MPI, cores, GPU and left-over processes; 1 means a failure.

for a class, from the instructor's account; accounts.txt has a name a line:
  ddl-teach doctor --class accounts.txt --by sudo      accounts of this machine
  ddl-teach doctor --class accounts.txt --by ssh       account@host a line, with your key
  ddl-teach doctor --class accounts.txt --by slurm     a job of one task for each account
  ddl-teach doctor --class FOLDER --accounts accounts.txt     learners' own machines: the files
                       that they have made by 'ddl-teach doctor --out NAME.json' and sent in
= lab: release.lab:open_lab
open the course in JupyterLab
  others [OPTION] ...    of JupyterLab, behind --, e.g. ddl-teach lab -- --port 9999

Open the first notebook in JupyterLab.
= grade: grading.command:grade
grade a folder of submitted notebooks, each in a sandbox
  submissions [FOLDER]   STUDENT/ASSIGNMENT/NOTEBOOK.ipynb, as nbgrader collects, or STUDENT.ipynb
  --mine                 instead of a class: your notebook, which is named or alone in this folder
  --source FILE.py       the instructor's version
  --out FOLDER           for the grades of all units
  --timeout SECONDS = 30    for one exercise of one submission
  --jobs N = {os.cpu_count() or 1}    submissions graded at the same time
  --no-feedback          only scores: no pages, no nbgrader

Grade submissions that nobody has to trust: scores, feedback pages, a CSV.

An interrupted grading goes on where it was when the same line is typed again.
= grades: grading.platforms:grades
show each student's points, or put them into Canvas's or Moodle's file
  grades FOLDER          as named by --out of 'ddl-teach grade'
  --into FILE.csv        exported by Canvas or Moodle
  --out FILE.csv         the same file with the points in it, to import there
  --key COLUMN           with the names under which you graded (default: what fits best)
  --only ASSIGNMENT      no other

Show a row a student with totals, or fill in a learning platform's own file.

examples:
  ddl-teach grades GRADES
  ddl-teach grades GRADES --into from_canvas.csv --out to_canvas.csv
  ddl-teach grades GRADES --into worksheet.csv --only 06_allreduce --out to_moodle.csv
= recipe:
carry out a recipe, and say whether its target was reached

A recipe says what is fixed, what is free, and the target.
= recipe run: commands.recipe_command:run_recipe
train once for each seed; with --beside, repeat somebody's run
  recipe FILE.toml
  --set NAME=VALUE ...   another value for what is free; can be repeated
  --out MINE.json = report.json    where the report goes
  --beside THEIRS.json   their report: take its settings, and show both side by side

Train once for each seed and keep a report of every training; 1 means that the target was missed.
= progress: cli:progress
show which exercises are solved

List the exercises of the course and how far each is.

It is kept in Jupyter's data folder, or in the folder DDL_TEACH_DATA names.
= review: retrieval.terminal:command
three short questions on what you did one, seven and thirty days ago
  --unit UNIT            on that unit alone, 06 for instance
  --clicker UNIT         for teachers: all questions of a unit as slides, answers in their notes
  --seed COUNT = 0       of the order of these answers

Ask, say at once what was right, and remember it: what was wrong comes again sooner.

In a notebook: from ddl_class import review, then review() shows and review(2, 1, 3) answers.
= survey:
for teachers: a test before and after the course
= survey make: retrieval.survey:make
make both sheets from the bank of questions, and a table for the answers
  folder FOLDER
  --units UNITS          such as 05,06,08 (default: those with a star)
  --each N = 1           questions of each unit
  --seed COUNT = 0       draws the questions and their order
= survey analyse: retrieval.analysis:analyse
gains with intervals, difficult questions, mistakes that were chosen
  folder FOLDER          as made by make, with answers.csv filled in
= release: release.students:command
for teachers: make a folder for nbgrader, or the course to hand out
  folder FOLDER
  --students             for learners: the course without solutions
  --book                 with --students: the book as well, without solutions

Make or renew a folder for nbgrader from the sources of the notebooks; or a folder for learners.
= update: release.update:update
bring a later release of the course into your folder; your own cells stay
  source FOLDER          what was handed out, unpacked
  --into FOLDER          yours (default: the course whose command this is)

Replace what you have not changed. Of notebooks your own cells stay; what was changed is copied
to before_update first.
= box:
a cluster on this machine: nodes with addresses and shaped links
  --name NAME = box      if there is more than one

Nodes with their own names, addresses, links and processes, for root and for ordinary users;
nothing is installed, and nothing stays.

examples:
  ddl-teach box up --nodes 4 --rate 100mbit --delay 1ms
  ddl-teach box status
  ddl-teach run program.py:main --ranks 4 --box
  ddl-teach box exec node2 hostname
  ddl-teach box exec head mpiexec -n 4 python program.py
  ddl-teach box fault node1 slow 10mbit
  ddl-teach box fault node1 cut
  ddl-teach box mend
  ddl-teach box lab
  ddl-teach box down
= box up: clusters.box.command:up
make the box
  --nodes N = 4
  --rate RATE = 100mbit  of each link
  --delay TIME = 0ms     of a message from node to node
  --switch auto|kernel|user = auto    kernel: exact, and no load; user: delays and loses packets
                         where the kernel cannot
  --share FOLDER ...     in /tmp, where nodes see only what they share; can be repeated
  --slurm                with a real Slurm on it
= box exec: clusters.box.command:execute
run a command on a node, or on the head
  node NODE
  command COMMAND
= box status: clusters.box.command:status
show nodes, links and what they have carried
= box fault: clusters.box.command:fault
do something bad to a node or its cable
  node NODE
  fault slow|delay|loss|cut|kill|off
  amount [AMOUNT]

A cable slows down, delays, loses or is out; processes die, nodes go off.

faults:
  slow   RATE: the cable carries less, 10mbit for instance
  delay  TIME: packets from and to the node take so much longer, 50ms for instance
  loss   SHARE: so many of them do not arrive, 1% for instance
  cut    the cable is out
  kill   TEXT: kill processes with TEXT in their command, as if they had crashed
  off    the node is off
= box mend: clusters.box.command:mend
power on what is off, and plug in good cables
  node [NODE]            all where none is named
= box lab: clusters.box.command:lab
JupyterLab on the head, for a browser outside
  --port COUNT = 8899    of this machine
= box down: clusters.box.command:down
end it, with all that runs in it
= competition:
measure, check and show the entries of a competition
= competition run: competition.entry:run
train a team's program for the board, and keep its entry
  program FILE.py        with FORM and train
  --discipline digits|code    only if FORM names this one
  --ranks N = 2
  --box [NAME = box]     on nodes of a box
  --out ENTRY.json = ?
= competition check: competition.board:check
say what is wrong with an entry; 1 means something is
  entry ENTRY.json
  --house house.json     where it is not beside the entry
= competition page: competition.board:page
build the leaderboard from a folder of entries
  folder FOLDER
  --out PAGE.html = ?
= cluster:
engines on many nodes: start, stop, check
  ground laptop|box|hosts|slurm
  --name BOX = box       of the box

Engines of ipyparallel on many nodes, as MPI ranks; and the nodes' doctor.

grounds:
  laptop   this machine, as one node
  box      the cluster in a box ('ddl-teach box up' makes it)
  hosts    machines reached by ssh, listed in a hostfile
  slurm    a cluster with Slurm; what differs from site to site stands in cluster_setup/site.sh

examples:
  ddl-teach cluster check hosts --hostfile cluster_setup/hosts/hostfile
  ddl-teach cluster start slurm --ranks 8 --nodes 4
  ddl-teach cluster stop slurm

In a notebook:
  from ddl_class.clusters.engines import connect
  client = connect("slurm")        # then %%px cells; comm is there on every rank
= cluster start: clusters.command:start
start a controller here and engines on all nodes
  --hostfile FILE        of hosts: a line for each host
  --ranks N = 4          engines
  --nodes N              of a job of Slurm (default: one a rank)
  --limit SECONDS = 120  until all engines must be there; a queue may need more
= cluster stop: clusters.command:stop
end them
= cluster check: clusters.command:check
examine the nodes; 1 means a failure
  --hostfile FILE        of hosts: a line for each host
  --folder FOLDER        one that all nodes should share (default: your home folder)
= labs: labs.command:show
the labs: list, run, mark

Afternoons on a cluster, real or in a box.

examples:
  ddl-teach labs                                  which there are
  ddl-teach labs run 1 --begin                    the questions, to fill in
  ddl-teach labs run 1 --ranks 4                  measure, on this machine
  ddl-teach labs run 1 --ranks 4 --box            measure, on the nodes of a box
  ddl-teach labs mark hand_in/1_hello_nodes       what is it worth?
  ddl-teach labs mark class/*/1_hello_nodes --csv marks.csv --grades GRADES
= labs run: labs.command:run
run a lab's program on ranks
  lab LAB                its name or number
  --ranks N = 4
  --box [NAME = box]     on nodes of a box
  --survivors            ranks outlive one that dies
{PROGRAM_WORDS}

Run a lab's program on this machine or in a box; on Slurm submit its job.sbatch.
= labs mark: labs.command:mark
mark what was handed in
  folders FOLDER ...
  --csv FILE             a line for each folder
  --grades FOLDER        put the points beside those of 'ddl-teach grade', too
= again: commands.again_command:run_again
start a program again after each crash, until it is done
  --until FILE           it is done once this exists
  --checkpoints FOLDER   where its checkpoints are (default: the folder of --until)
  --crashes COUNT = {CRASHES}    give up after more without a later checkpoint
  --requeue              asked to go by SIGUSR1, have Slurm start this job again
  command WORD ...       behind --

Start a program again after each crash until it is done; asked to go by SIGTERM or SIGUSR1, tell
it by SIGUSR1, wait, and end with status 75.

examples:
  ddl-teach again -- mpiexec -n 4 python -m ddl_teach.fault_tolerance.long_run FOLDER
  ddl-teach box exec head ddl-teach again --until FOLDER/result.json -- mpiexec ...
  ddl-teach again --requeue -- srun --mpi=pmix python ...     in a batch script of Slurm

The program must resume by itself: ddl_teach/fault_tolerance/long_run.py shows how.
"""


def progress(_: argparse.Namespace) -> int:
    """Show which exercises are solved."""
    from ddl_class.exercises.progress import progress_text

    print(progress_text())
    return 0


def parser() -> argparse.ArgumentParser:
    """The whole command line, with its commands and their options."""
    return command_line("ddl-teach", ABOUT, PAGES)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    options = parser().parse_args(words)
    try:
        status: int = options.act(options)
        sys.stdout.flush()
        return status
    except Mistake as mistake:
        print(f"ddl-teach: {mistake}", file=sys.stderr)
        return MISTAKEN
    except BrokenPipeError:  # the reader of the output has ended, as in `| head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "Interrupted.", file=sys.stderr)
        return INTERRUPTED
