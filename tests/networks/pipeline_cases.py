"""Every schedule there is, and what costs it is simulated with."""

from ddl_measure.experiments.pipelines import timed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.networks.pipelines.breadth_first import breadth_first
from ddl_teach.networks.pipelines.dualpipe_v import dualpipe_v
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.interleaved_zero_bubble import interleaved_zero_bubble
from ddl_teach.networks.pipelines.message_driven import message_driven
from ddl_teach.networks.pipelines.naive import naive
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.zb_v import zb_v
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.theory import pipelines as theory

FREE = Uniform(latency=0.0, bandwidth=float("inf"))


def every_schedule(ranks, micro_batches):
    """All that these numbers allow, each once."""
    made = [
        naive(ranks, micro_batches),
        gpipe(ranks, micro_batches),
        one_f_one_b(ranks, micro_batches),
        one_f_one_b(ranks, micro_batches, lookahead=2),
        zero_bubble(ranks, micro_batches),
        zero_bubble(ranks, micro_batches, lookahead=2),
        message_driven(ranks, micro_batches),
        message_driven(ranks, micro_batches, in_flight=2),
        gems(ranks, micro_batches),
        interleaved(ranks, micro_batches),
        breadth_first(ranks, micro_batches),
        interleaved_zero_bubble(ranks, micro_batches),
        zb_v(ranks, micro_batches),
    ]
    if micro_batches >= 2 * ranks:
        made.append(dualpipe_v(ranks, micro_batches))
    return made


def played(schedule, costs, network=FREE, **options):
    """A run in virtual time; each rank returns what its step was like."""
    given = {"network": network, "schedule": schedule, "costs": costs}
    return simulate(timed, schedule.ranks, **given, **options)


def gems_sent(rank, ranks, even, odd, gradients):
    """Bytes of a rank of GEMS: what even and odd micro-batches send through the cuts, and the
    gradients of both stages that it holds, to whoever holds the other replicas."""
    other = ranks - 1 - rank
    sums = 0 if rank == other else gradients[rank] + gradients[other]
    return theory.sent(rank, ranks, even) + theory.sent(other, ranks, odd) + sums
