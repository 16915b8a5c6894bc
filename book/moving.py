"""The moving picture of each unit, on its page before its first formula.

It is played by the course's own player, which loads nothing. A program of `moving_programs` is
run on simulated ranks each time the book is built.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from book import moving_programs as programs
from ddl_class.notebook.animation import animate
from ddl_class.plots.player import MovingPicture
from ddl_teach import simulate
from ddl_teach.comm import TwoLevel, Uniform


class Moving(NamedTuple):
    """What is run."""

    program: Callable[..., None]
    ranks: int = 4
    network: Any = Uniform(latency=1e-6, bandwidth=10e9)


SLOW_CABLE = TwoLevel(3, Uniform(1e-6, 10e9), Uniform(2e-6, 5e9))
INTERNET = TwoLevel(2, Uniform(1e-6, 10e9), Uniform(8e-6, 2e9))
OF_UNITS = {
    "00_tour": Moving(programs.pass_right),
    "01_work_and_depth": Moving(programs.add_in_a_tree, 8),
    "02_convolutions": Moving(programs.rows_of_an_image),
    "03_divided_batches": Moving(programs.whole_or_in_pieces, 3),
    "04_recurrences": Moving(programs.wavefront),
    "05_messages": Moving(programs.short_and_long, 2),
    "06_allreduce": Moving(programs.round_a_ring),
    "07_gpus": Moving(programs.copies_in_pieces, 3),
    "08_data_parallelism": Moving(programs.average_gradients),
    "09_splitting_layers": Moving(programs.halves_of_a_layer),
    "10_pipelines": Moving(programs.pipeline),
    "11_memory": Moving(programs.weights_in_parts),
    "12_grids": Moving(programs.rows_and_columns, 6),
    "13_large_batches": Moving(programs.more_work_a_step),
    "14_when_ranks_agree": Moving(programs.training_in_rounds),
    "15_server_or_no_server": Moving(programs.server),
    "16_fewer_bytes": Moving(programs.fewer_bytes),
    "17_searching_in_parallel": Moving(programs.search),
    "18_twelve_ways": Moving(programs.the_slowest_decides),
    "19_validate": Moving(programs.beside_one_process),
    "20_many_nodes": Moving(programs.two_nodes, 6, SLOW_CABLE),
    "21_attention": Moving(programs.keys_and_values),
    "22_eight_bits": Moving(programs.sixteen_and_eight_bits),
    "23_collectives": Moving(programs.two_trees, 6),
    "24_across_the_internet": Moving(programs.sites, 4, INTERNET),
    "25_a_month": Moving(programs.save_and_repeat, 5),
    "26_serving": Moving(programs.prompts_and_words, 3),
}


def picture(name: str) -> MovingPicture:
    """The moving picture of this notebook."""
    program, ranks, network = OF_UNITS[name]
    return animate(simulate(program, ranks, network=network))


def before_formulas(name: str, blocks: list[str]) -> list[str]:
    """A chapter with its picture, if it has one, below its heading and first paragraph."""
    if name not in OF_UNITS:
        return blocks
    heading, first, *rest = blocks[0].split("\n\n")
    words = inspect.getdoc(OF_UNITS[name].program)
    page = f'<div class="output"><div class="html">{picture(name).page()}</div></div>'
    shown = f"`````{{raw}} html\n{page}\n`````"
    return ["\n\n".join([heading, first, shown, f"*{words}*", *rest]), *blocks[1:]]
