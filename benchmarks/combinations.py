"""The product of consistencies, distributions and compressors, as far as it makes sense."""

from collections.abc import Iterator
from itertools import product, starmap
from typing import Any, NamedTuple

from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.nonzero import NonZero
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.random_k import RandomK
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.threshold import Threshold
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.adaptive_local import AdaptiveLocalSGD
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.asynchronous_gossip import AsynchronousGossip
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.compressed_gossip import CompressedGossip
from ddl_teach.training.consistency.consensus_admm import ConsensusADMM
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.elastic import Elastic
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.noloco import NoLoCo
from ddl_teach.training.consistency.post_local import PostLocalSGD
from ddl_teach.training.consistency.push_sum import PushSum
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.consistency.synchronous_kfac import SynchronousKFAC
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.hierarchical import Hierarchical
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.one_sided import OneSided
from ddl_teach.training.distribution.requantised_ring import RequantisedRing
from ddl_teach.training.distribution.robust import Robust
from ddl_teach.training.distribution.server import Server, Sharded
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.distribution.sparse_all_reduce import SparseAllReduce
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.refusals import refusal

Distributions = tuple[Distribution[Any], ...]
CONSISTENCIES: tuple[Consistency[Any], ...] = (
    Synchronous(), BackupWorkers(1), StaleSynchronous(0), StaleSynchronous(2), Asynchronous(),
    Hogwild(), LocalSGD(4), PostLocalSGD(8, 4), AdaptiveLocalSGD(6), Elastic(1, 0.5),
    BlockMomentum(4), DiLoCo(4), StreamingDiLoCo(4, 2, 1), ConsensusADMM(4), SynchronousKFAC(),
    Gossip(), CompressedGossip(), PushSum(), AsynchronousGossip(), NoLoCo(4),
)  # fmt: skip
DISTRIBUTIONS: Distributions = (
    AllReduce("ring"), SparseAllReduce(), Server(), Sharded(2), Hierarchical(2), OneSided(),
    Neighbours(), SharedVector(), RequantisedRing(), Robust(liars=0),
)  # fmt: skip
COMPRESSORS: tuple[Compressor, ...] = (
    Dense(), Half(), Feedback(OneBit()), QSGD(), TernGrad(), Feedback(TopK(0.1)),
    Feedback(RandomK(0.5, scaled=False)), Feedback(Threshold(0.03)), Feedback(PowerSGD(4)),
    DeepGradientCompression(0.1, momentum=0.5), NonZero(), Blocks(),
)  # fmt: skip


class Combination(NamedTuple):
    """One of each."""

    consistency: Consistency[Any]
    distribution: Distribution[Any]
    compressor: Compressor

    @property
    def name(self) -> str:
        return f"{self.consistency} x {self.distribution} x {self.compressor}"


def all_of(distributions: Distributions = DISTRIBUTIONS) -> Iterator[Combination]:
    """Every combination, whether it makes sense or not."""
    return starmap(Combination, product(CONSISTENCIES, distributions, COMPRESSORS))


def sensible(update: Update, distributions: Distributions = DISTRIBUTIONS) -> list[Combination]:
    """The combinations that are not refused."""
    return [pair for pair in all_of(distributions) if refusal(*pair, update) is None]


def fits(distribution: Distribution[Any], ranks: int) -> bool:
    """Whether a distribution leaves a worker on that many ranks."""
    return ranks == 1 or not isinstance(distribution, Sharded) or distribution.servers < ranks


def every_pair(combinations: list[Combination], turn: int = 0) -> list[Combination]:
    """Some in which each consistency meets each of its distributions; compressors take turns."""
    groups: dict[tuple[Consistency[Any], Distribution[Any]], list[Combination]] = {}
    for pair in combinations:
        groups.setdefault((pair.consistency, pair.distribution), []).append(pair)
    return [group[(turn + place) % len(group)] for place, group in enumerate(groups.values())]
