"""Post-local SGD: synchronous at first, local SGD later.

    agree after every step until step `switch`, then after every `period` steps

Early on the weights move fast, and workers that drift apart end in different places; at a lower
rate they stay in one valley, and their drift, like the noise of a small batch, leads to flatter
minima. Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020,
switch where the rate first falls.
What to look at: held-out accuracy beside that of Synchronous() at the same number of bytes.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.consistency.rounds import train_in_rounds


@dataclass(frozen=True)
class PostLocalSGD(Consistency[Averages]):
    """Every step counts for all before step `switch`, every `period`-th from there on."""

    switch: int = 50
    period: int = 8
    needs = (Averages,)
    sends = "changes"

    def run(self, worker: AnyWorker[Averages]) -> None:
        train_in_rounds(worker, lambda step, agreed: 1 if step < self.switch else self.period)
