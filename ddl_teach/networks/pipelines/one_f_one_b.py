"""1F1B: as soon as a micro-batch can go backward it does, and only then another goes forward.

Cost: the same time as GPipe's, (m + P - 1) (F + B). Rank r holds the activations of at most P - r
micro-batches, however many there are. Where messages take L, ranks that run k ahead of the next
keep k (P-1-r) + 1; from k = 1 + 2 L / (F + B) on they wait for no gradient. Narayanan et al.,
"PipeDream", 2019; with one update a batch, as here, Fan, Rong, Meng et al., "DAPPLE", PPoPP 2021.
What to look at: rank 0 keeps the most, though all do the same work; the last keeps one.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row


def one_f_one_b(ranks: int, micro_batches: int, lookahead: int = 1) -> Schedule:
    """The schedule, stage r on rank r; each is up to `lookahead` micro-batches before the next."""
    orders = [order(rank, ranks, micro_batches, lookahead) for rank in range(ranks)]
    return with_messages("1F1B", micro_batches, in_a_row(ranks), orders)


def order(stage: int, stages: int, micro_batches: int, ahead: int = 1) -> Iterator[Instruction]:
    """What a stage computes: warm up, one forward and one backward in turns, cool down."""
    # The first gradient comes back when micro-batch 0 has been through all later stages.
    ahead = min(ahead * (stages - 1 - stage), micro_batches)
    for micro_batch in range(ahead):
        yield Forward(stage, micro_batch)
    for micro_batch in range(micro_batches):
        if micro_batch + ahead < micro_batches:
            yield Forward(stage, micro_batch + ahead)
        yield Backward(stage, micro_batch)
