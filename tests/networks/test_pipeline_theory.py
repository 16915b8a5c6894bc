"""In simulation bubbles, peaks and bytes are what the formulas say; and so at any scale."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_cases import FREE, gems_sent, played

from ddl_measure.experiments.pipelines import PassSeconds, timed
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

SECONDS = st.integers(1, 9).map(float)
SIZES = st.tuples(st.integers(1, 7), st.integers(1, 16))
some = settings(max_examples=25, deadline=None, derandomize=True)
few = settings(some, max_examples=8)


def agree(run, wanted, thin=1):
    assert run.time == pytest.approx(wanted.time)
    assert [passed.peak / thin for passed in run.results] == pytest.approx(wanted.peak)


@some
@given(SIZES, SECONDS, SECONDS, SECONDS)
def test_naive_gpipe_and_one_f_one_b(sizes, forward, backward, latency):
    costs = PassSeconds(forward, backward, 0.0)
    slow = Uniform(latency, float("inf"))
    agree(played(naive(*sizes), costs, slow), theory.naive(*sizes, forward, backward, latency))
    agree(played(gpipe(*sizes), costs, slow), theory.gpipe(*sizes, forward, backward, latency))
    agree(played(one_f_one_b(*sizes), costs), theory.one_f_one_b(*sizes, forward, backward))
    found = theory.one_f_one_b(*sizes, forward, backward, latency)
    agree(played(one_f_one_b(*sizes), costs, slow), found)


@pytest.mark.parametrize("micro_batches", [1, 3, 8, 40])
def test_one_f_one_b_of_uneven_stages_and_hops_is_gone_through_on_paper(micro_batches):
    """On paper as simulated; beyond three times the ranks it goes on as it did."""
    forward, backward, hops = [1.0, 2.0, 1.5, 0.5], [2.0, 3.0, 4.0, 1.0], [0.5, 3.0, 0.25]

    class Uneven(Uniform):
        def link(self, source, dest):
            return hops[min(source, dest)], 0.0

        fixed_link = None

    def program(comm):
        own = PassSeconds(forward[comm.rank], backward[comm.rank], 0.0)
        return timed(comm, one_f_one_b(4, micro_batches), own)

    took = simulate(program, 4, network=Uneven(0.0, float("inf"))).time
    paper = theory.one_f_one_b_uneven(
        micro_batches, forward, backward, [(hop, 0.0) for hop in hops]
    )
    assert paper == pytest.approx(took, rel=1e-9)
    occupied = theory.one_f_one_b_uneven(
        micro_batches, forward, backward, [(0.0, hop) for hop in hops]
    )
    assert paper <= occupied + 1e-9


@some
@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=2, max_size=9), st.integers(1, 40))
def test_one_f_one_b_without_messages_is_one_with_messages_that_vanish(stages, micro_batches):
    """All stages at once in slots, and one pass after the other on paper."""
    forward, backward = zip(*stages, strict=True)
    free, vanishing = (
        theory.one_f_one_b_uneven(micro_batches, forward, backward, [hop] * (len(stages) - 1))
        for hop in [(0.0, 0.0), (1e-300, 0.0)]
    )
    assert free == vanishing


@some
@given(SIZES, st.integers(1, 3), SECONDS, SECONDS)
def test_interleaved_and_breadth_first(sizes, thin, forward, backward):
    costs = PassSeconds(forward / thin, backward / thin, 0.0)
    depth, breadth = interleaved(*sizes, thin), breadth_first(*sizes, thin)
    agree(played(depth, costs), theory.interleaved(*sizes, forward, backward, thin), thin)
    agree(played(breadth, costs), theory.breadth_first(*sizes, forward, backward, thin), thin)


@few
@given(st.integers(1, 5), st.integers(0, 9), st.integers(1, 3), SECONDS, SECONDS, SECONDS)
def test_interleaved_zero_bubble(ranks, more, thin, forward, of_input, of_weights):
    seconds = forward, of_input, min(of_weights, forward)
    sizes = ranks, ranks + more
    run = played(
        interleaved_zero_bubble(*sizes, thin), PassSeconds(*(part / thin for part in seconds))
    )
    agree(run, theory.interleaved_zero_bubble(*sizes, *seconds, thin), thin)


@few
@given(st.integers(1, 6), st.integers(0, 9), SECONDS, SECONDS)
def test_pipelines_in_a_v(ranks, more, seconds, of_weights):
    """Half of 1F1B's filling and no draining; DeepSeek's formula where F and I take as long."""
    halves = PassSeconds(seconds / 2, seconds / 2, seconds / 2)
    sizes = ranks, 2 * ranks - 1 + more
    agree(played(zb_v(*sizes), halves), theory.zb_v(*sizes, seconds), 2)
    sizes, of_weights = (ranks, 2 * ranks + more), min(of_weights, seconds)
    costs = PassSeconds(seconds / 2, seconds / 2, of_weights / 2)
    agree(
        played(dualpipe_v(*sizes), costs),
        theory.dualpipe_v(*sizes, seconds, seconds, of_weights),
        2,
    )


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("forward", "of_input", "of_weights"), [(1, 1, 1), (2, 2, 1), (4, 3, 2)])
def test_dualpipe_v_is_what_its_authors_say_of_dualpipe(ranks, forward, of_input, of_weights):
    """The table in DeepSeek's README of DualPipe: with PP chunks one after the other a bubble of
    (PP/2 - 1) (F&B + B - 3 W) and PP + 1 activations. Cut in half, the chunks lie on PP/2 ranks,
    of which each has two; here F&B is F + B, for a pair runs one after the other."""
    step = theory.dualpipe_v(ranks, 2 * ranks, forward, of_input, of_weights)
    chunks, backward = 2 * ranks, (of_input + of_weights) / 2
    pair = forward / 2 + backward
    assert step.bubble == (chunks / 2 - 1) * (pair + backward - 3 * of_weights / 2)
    assert step.peak == ((chunks + 1) / 2,) * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_zero_bubble_s_memory_is_what_its_authors_say(ranks):
    """Qi et al., ICLR 2024: p for H1 and 2 p - 1 for H2; and NeurIPS 2024: p for ZB-V."""
    peaks = [theory.zero_bubble(ranks, 4 * ranks, 1, 1, 1, lookahead).peak for lookahead in (1, 2)]
    assert peaks == [(ranks,) * ranks, (2 * ranks - 1,) * ranks]
    assert theory.zb_v(ranks, 4 * ranks, 1).peak == (ranks,) * ranks


def test_in_a_v_no_rank_has_a_gap_with_the_memory_of_1f1b():
    """Qi et al. 2023: as H2, with half of its activations; a bubble rate of 0 in their table."""
    run = played(zb_v(5, 12), PassSeconds(0.5, 0.5, 0.5))
    work = [[span for span in own if span.kind == "work"] for own in run.timeline.spans]
    assert [own[-1].end - own[0].start for own in work] == [3 * 12.0] * 5
    assert [passed.peak / 2 for passed in run.results] == [
        max(theory.one_f_one_b(5, 12, 1, 2).peak)
    ] * 5


@some
@given(st.integers(1, 6), st.integers(0, 8), st.sampled_from([1, 2]), SECONDS, SECONDS, SECONDS)
def test_zero_bubble(ranks, more, lookahead, forward, of_input, of_weights):
    of_weights = min(of_weights, forward)
    sizes = ranks, lookahead * (ranks - 1) + 1 + more
    costs = PassSeconds(forward, of_input, of_weights)
    wanted = theory.zero_bubble(*sizes, forward, of_input, of_weights, lookahead)
    schedule = zero_bubble(*sizes, lookahead)
    agree(played(schedule, costs), wanted)
    bubble = theory.again(ranks, forward, of_input, of_weights, lookahead)
    for steps in (2, 3, 5):
        given = {"schedule": schedule, "costs": costs, "steps": steps}
        time = simulate(timed, ranks, network=FREE, **given).time
        assert time == pytest.approx(wanted.time + (steps - 1) * (wanted.work + bubble))


def test_several_steps_of_h2_have_one_bubble_and_of_the_others_one_each():
    """Qi et al. 2023: with equal passes all that is left is filling and draining the pipeline."""
    lengths = {}
    for schedule in (gpipe(4, 8), one_f_one_b(4, 8), zero_bubble(4, 8), zero_bubble(4, 8, 2)):
        times = [simulate(timed, 4, network=FREE, schedule=schedule, steps=n).time for n in (1, 2)]
        lengths[schedule.name] = times[1] - times[0] - 3 * 8
    assert list(lengths.values()) == [9, 9, 3, 0]


@some
@given(SIZES, SECONDS, SECONDS)
def test_gems(sizes, forward, backward):
    backward = max(forward, backward)
    wanted = theory.gems(*sizes, forward, backward)
    agree(played(gems(*sizes), PassSeconds(forward, backward, 0.0)), wanted)


@some
@given(SIZES, st.integers(1, 8), SECONDS, SECONDS, st.sampled_from([0.0, 3.0]))
def test_message_driven(sizes, limit, forward, backward, latency):
    schedule = message_driven(*sizes, in_flight=limit)
    run = played(schedule, PassSeconds(forward, backward, 0.0), Uniform(latency, float("inf")))
    wanted = theory.message_driven(*sizes, forward, backward, limit, latency)
    assert all(passed.peak <= most for passed, most in zip(run.results, wanted.peak, strict=True))
    assert run.results[0].peak == wanted.peak[0]
    if latency == 0 and (limit <= 2 or limit >= sizes[1]):
        assert run.time == pytest.approx(wanted.time)
    else:
        assert wanted.time <= run.time * (1 + 1e-9)
        assert run.time <= 1.3 * wanted.time


SENDING = PassSeconds(1.0, 1.0, 1.0, activation_bytes=100, weight_bytes=7)


@pytest.mark.parametrize(
    "schedule",
    [one_f_one_b(256, 8), message_driven(3, 6), interleaved(4, 4, 3)],
    ids=["1F1B on 256 ranks", "message-driven", "interleaved"],
)
def test_the_ledger_is_the_formula_and_256_ranks_are_no_trouble(schedule):
    cuts = [100 * schedule.micro_batches] * (schedule.stages - 1)
    sent = [ledger.bytes_sent for ledger in played(schedule, SENDING).ledger]
    ranks = schedule.ranks
    assert sent == [theory.sent(rank, ranks, cuts) for rank in range(ranks)]


@pytest.mark.parametrize(("ranks", "micro_batches"), [(1, 2), (2, 3), (5, 4)])
def test_the_ledger_of_gems_is_the_formula(ranks, micro_batches):
    even, odd = (
        [100 * many] * (ranks - 1) for many in (-(-micro_batches // 2), micro_batches // 2)
    )
    run = played(gems(ranks, micro_batches), SENDING)
    assert [ledger.bytes_sent for ledger in run.ledger] == [
        gems_sent(rank, ranks, even, odd, [7] * ranks) for rank in range(ranks)
    ]


def test_with_h2_no_rank_has_a_gap_where_all_passes_take_the_same_time():
    """Qi et al. 2023: idle only before its first instruction and after its last one."""

    def gaps(schedule):
        spans = played(schedule, PassSeconds(1.0, 1.0, 1.0)).timeline.spans
        work = [[span for span in own if span.kind == "work"] for own in spans]
        return [own[-1].end - own[0].start - 3 * schedule.micro_batches for own in work]

    assert gaps(zero_bubble(5, 12, lookahead=2)) == [0.0] * 5
    assert max(gaps(zero_bubble(5, 12))) > 0
    assert max(gaps(one_f_one_b(5, 12))) > max(gaps(zero_bubble(5, 12)))


@pytest.mark.parametrize("latency", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_an_order_that_runs_far_enough_ahead_waits_for_no_gradient(ranks, latency):
    """It then takes GPipe's time, no more than whatever has arrived with as many in flight, and
    keeps no more than that on any rank; with a rank between the ends less."""
    forward, backward = 1.0, 2.0
    lookahead = math.ceil(1 + 2 * latency / (forward + backward))
    in_flight = lookahead * (ranks - 1) + 1
    assert in_flight >= theory.limit_without_waiting(ranks, forward, backward, latency)
    costs, slow = PassSeconds(forward, backward, 0.0), Uniform(latency, float("inf"))
    sizes = ranks, 3 * in_flight
    ordered = played(one_f_one_b(*sizes, lookahead), costs, slow)
    arrived = played(message_driven(*sizes, in_flight), costs, slow)
    wanted = theory.gpipe(*sizes, forward, backward, latency).time
    assert ordered.time == pytest.approx(wanted)
    assert ordered.time <= arrived.time * (1 + 1e-9)
    kept = [passed.peak for passed in ordered.results]
    assert kept == [lookahead * (ranks - 1 - rank) + 1 for rank in range(ranks)]
    others = [passed.peak for passed in arrived.results]
    assert all(one <= other for one, other in zip(kept, others, strict=True))
    assert (sum(kept) < sum(others)) == (ranks > 2)


def test_what_is_in_flight_decides_and_not_who_gave_the_order():
    """Within a twentieth at any limit; an order that runs less far ahead takes far longer."""
    turn, slow = PassSeconds(1.0, 1.0, 1.0), Uniform(6.0, float("inf"))
    times = {}
    for lookahead in range(1, 7):
        times[lookahead] = played(one_f_one_b(4, 64, lookahead), turn, slow).time
        arrived = played(message_driven(4, 64, 3 * lookahead + 1), turn, slow).time
        assert times[lookahead] == pytest.approx(arrived, rel=0.05)
    assert times[1] > 3 * times[5]
    assert times[5] == times[6]


def test_formulas_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="micro_batches must be at least 1"):
        theory.gpipe(4, 0, 1.0, 2.0)
    with pytest.raises(ValueError, match="both take 0 seconds"):
        theory.one_f_one_b(4, 4, 0.0, 0.0)
    assert theory.gpipe(4, 4, 1.0, 2.0).idle == 3 / 7
    assert FREE.latency == 0
