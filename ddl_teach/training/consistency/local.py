"""Local SGD: agree only every `period` steps.

    `period` steps of one's own, then w = mean over the workers of w_i

A period-th of the messages. Between two agreements the workers drift apart, each towards what its
own share of the data wants; with period 1 and a rule whose steps are linear in the gradients (SGD,
momentum) it is synchronous SGD. A rule's states are not averaged. McMahan et al. 2017; Stich 2019.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.consistency.rounds import train_in_rounds


@dataclass(frozen=True)
class LocalSGD(Consistency[Averages]):
    """Average what the workers have learnt after every `period` steps."""

    period: int = 8
    needs = (Averages,)
    sends = "changes"

    def run(self, worker: AnyWorker[Averages]) -> None:
        train_in_rounds(worker, lambda step, agreed: self.period)
