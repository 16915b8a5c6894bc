"""The product: one of each WHEN, PATH and FORM, and all combinations that make sense.

What to look at: how few refusals there are, and that each has a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from ddl_teach.exchange.forms.deep_gradient_compression import DeepGradientCompression
from ddl_teach.exchange.forms.dense import Dense
from ddl_teach.exchange.forms.feedback import Feedback
from ddl_teach.exchange.forms.form import Form
from ddl_teach.exchange.forms.half import Half
from ddl_teach.exchange.forms.nonzero import NonZero
from ddl_teach.exchange.forms.one_bit import OneBit
from ddl_teach.exchange.forms.powersgd import PowerSGD
from ddl_teach.exchange.forms.qsgd import QSGD
from ddl_teach.exchange.forms.random_k import RandomK
from ddl_teach.exchange.forms.terngrad import TernGrad
from ddl_teach.exchange.forms.threshold import Threshold
from ddl_teach.exchange.forms.top_k import TopK
from ddl_teach.exchange.paths.all_reduce import AllReduce
from ddl_teach.exchange.paths.hierarchical import Hierarchical
from ddl_teach.exchange.paths.neighbours import Neighbours
from ddl_teach.exchange.paths.one_sided import OneSided
from ddl_teach.exchange.paths.path import Path
from ddl_teach.exchange.paths.server import Server, Sharded
from ddl_teach.exchange.paths.shared_vector import SharedVector
from ddl_teach.exchange.paths.sparse_all_reduce import SparseAllReduce
from ddl_teach.exchange.refusals import refusal
from ddl_teach.networks.memory.updates import Update
from ddl_teach.sgd.adaptive_local import AdaptiveLocalSGD
from ddl_teach.sgd.asynchronous import Asynchronous
from ddl_teach.sgd.asynchronous_gossip import AsynchronousGossip
from ddl_teach.sgd.backup_workers import BackupWorkers
from ddl_teach.sgd.block_momentum import BlockMomentum
from ddl_teach.sgd.compressed_gossip import CompressedGossip
from ddl_teach.sgd.consensus_admm import ConsensusADMM
from ddl_teach.sgd.elastic import Elastic
from ddl_teach.sgd.gossip import Gossip
from ddl_teach.sgd.hogwild import Hogwild
from ddl_teach.sgd.local import LocalSGD
from ddl_teach.sgd.post_local import PostLocalSGD
from ddl_teach.sgd.push_sum import PushSum
from ddl_teach.sgd.stale_synchronous import StaleSynchronous
from ddl_teach.sgd.synchronous import Synchronous
from ddl_teach.sgd.synchronous_kfac import SynchronousKFAC
from ddl_teach.sgd.when import When

WHENS: tuple[When, ...] = (
    Synchronous(), BackupWorkers(1), StaleSynchronous(0), StaleSynchronous(2), Asynchronous(),
    Hogwild(), LocalSGD(4), PostLocalSGD(8, 4), AdaptiveLocalSGD(6), Elastic(1, 0.5),
    BlockMomentum(4), ConsensusADMM(4), SynchronousKFAC(), Gossip(), CompressedGossip(),
    PushSum(), AsynchronousGossip(),
)  # fmt: skip
PATHS: tuple[Path, ...] = (
    AllReduce("ring"), SparseAllReduce(), Server(), Sharded(2), Hierarchical(2), OneSided(),
    Neighbours(), SharedVector(),
)  # fmt: skip
FORMS: tuple[Form, ...] = (
    Dense(), Half(), Feedback(OneBit()), QSGD(), TernGrad(), Feedback(TopK(0.1)),
    Feedback(RandomK(0.5, scaled=False)), Feedback(Threshold(0.03)), Feedback(PowerSGD(4)),
    DeepGradientCompression(0.1, momentum=0.5), NonZero(),
)  # fmt: skip


class Combination(NamedTuple):
    """One of each."""

    when: When
    path: Path
    form: Form

    @property
    def name(self) -> str:
        """For instance `LocalSGD(period=4) x Server x Dense`."""
        return f"{self.when} x {self.path} x {self.form}"


def all_of(
    whens: tuple[When, ...] = WHENS,
    paths: tuple[Path, ...] = PATHS,
    forms: tuple[Form, ...] = FORMS,
) -> Iterator[Combination]:
    """Every combination, whether it makes sense or not."""
    return (Combination(*one_of_each) for one_of_each in product(whens, paths, forms))


def sensible(update: Update, **some: tuple) -> list[Combination]:
    """Those that are not refused."""
    return [one for one in all_of(**some) if refusal(*one, update) is None]


def every_pair(combinations: list[Combination], turn: int = 0) -> list[Combination]:
    """A few of them in which each WHEN meets each of its paths, and forms take turns."""
    groups: dict[tuple[When, Path], list[Combination]] = {}
    for one in combinations:
        groups.setdefault((one.when, one.path), []).append(one)
    return [group[(turn + place) % len(group)] for place, group in enumerate(groups.values())]


def determined(one: Combination) -> bool:
    """Whether nothing depends on who comes first, so that a run can be repeated to the bit."""
    if isinstance(one.path, OneSided):
        return False  # memory adds in the order of arrival
    if {"average", "mix", "mix_changes", "push_sum"}.isdisjoint(one.when.needs):
        return isinstance(one.when, StaleSynchronous) and one.when.bound == 0
    # Springs over a server pull whenever their worker comes.
    return not (isinstance(one.when, Elastic) and "serve" in one.path.offers)
