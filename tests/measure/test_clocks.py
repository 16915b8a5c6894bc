"""Planted offsets and drifts are found within the bound that theory gives, and taken out again."""

from dataclasses import replace

import numpy as np
import pytest
from skewed_clock import Planted, SkewedClock

from ddl_measure.clocks import Reading, Timed, compare_clocks, corrected, with_clocks
from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.records.timeline import Timeline
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import ANY, simulate

LATENCY = 1e-5
NETWORK = Uniform(latency=LATENCY, bandwidth=1e9)
# Of messages that take longer one way than the other: half a round trip is then a wrong guess.
UNEVEN = Machine(latency_jitter=1.0)


def clock_of(rank):
    """Rank 0 is the truth; others are seconds off, and gain or lose up to 0.2 ms in a second."""
    return Planted((-1) ** rank * 3.7 * rank, 1e-4 * (rank % 5 - 2) if rank else 0.0)


def chain(comm):
    """A token through all ranks, with work in between; returns when this rank had it."""
    token = np.zeros(1)
    if comm.rank:
        comm.recv(token, comm.rank - 1)
    with comm.span("mine"):
        comm.work(seconds=0.01 if comm.size < 10 else 0.1)
    if comm.rank + 1 < comm.size:
        comm.send(token, comm.rank + 1)
    comm.barrier()
    return comm.rank


def skewed_chain(comm, turns):
    return with_clocks(chain, turns)(SkewedClock(comm, clock_of(comm.rank)))


def skewed_run(run):
    """With the timeline that ranks with such clocks would have recorded."""
    spans = [
        [it._replace(start=clock_of(rank).shown(it.start), end=clock_of(rank).shown(it.end))
         for it in own]
        for rank, own in enumerate(run.timeline.spans)
    ]  # fmt: skip
    return replace(run, timeline=Timeline(spans))


def impossible(timeline):
    """Messages in somebody's hands before they were sent: what clocks that disagree look like."""
    return [arrow for arrow in timeline.messages if arrow.end < arrow.start]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 40])
@pytest.mark.parametrize("turns", [1, 20])
def test_planted_clocks_are_found_within_half_the_least_round_trip(ranks, turns):
    run = simulate(skewed_chain, ranks, network=NETWORK, machine=UNEVEN, turns=turns)
    for rank, found in enumerate(run.results):
        truth = clock_of(rank)
        # The bound is in seconds of rank 0; the other clock's are longer or shorter.
        slack = 1 + 1e-3
        for reading in (found.before, found.after):
            error = abs(reading.ahead - (truth.shown(reading.at) - reading.at))
            assert error <= reading.bound * slack + 1e-12
            assert (reading.bound > 0) == (rank > 0)
        long = found.after.at - found.before.at
        apart = found.before.bound + found.after.bound
        assert abs(found.drift - truth.drift) * long <= apart * slack + 1e-12
        bound = max(found.before.bound, found.after.bound)
        for moment in np.linspace(found.before.at, found.after.at, 5):
            assert abs(found.true(truth.shown(moment)) - moment) <= bound * slack + 1e-12
    # The fastest of many round trips is hardly longer than two messages can be.
    if turns == 20:
        assert max(timed.before.bound for timed in run.results) < 2.0 * LATENCY


def widest(run):
    return max(reading.bound for timed in run.results for reading in (timed.before, timed.after))


def test_a_corrected_timeline_is_the_true_one_and_no_message_goes_back_in_time():
    run = simulate(skewed_chain, 8, turns=20, network=NETWORK, machine=UNEVEN)
    told = skewed_run(run)
    mended = corrected(told)
    assert mended.results == list(range(8))
    # Each other rank's clock is behind its neighbours'.
    assert len(impossible(told.timeline)) >= 3
    assert impossible(mended.timeline) == []
    begun = [clock_of(rank).true(timed.begun) for rank, timed in enumerate(run.results)]
    for rank, spans in enumerate(mended.timeline.spans):
        names = ["recv"] * (rank > 0) + ["work", "mine"] + ["send"] * (rank < 7) + ["barrier"]
        assert [span.name for span in spans] == names
        whole = [span for span in run.timeline.of(rank) if span.start >= begun[rank] - 1e-12]
        for true, span in zip(whole, spans, strict=True):
            for one, other in ((true.start, span.start), (true.end, span.end)):
                assert abs(other - (one - min(begun))) <= 2 * widest(run)
    assert mended.time == pytest.approx(run.time - min(begun), abs=0.01)


def test_the_comparison_is_in_no_ledger_and_an_undisturbed_run_stays_as_it_was():
    plain = simulate(chain, 5, network=NETWORK)
    run = simulate(with_clocks(chain), 5, network=NETWORK)
    assert run.ledger[0].by_kind()["clocks"] == 2 * 4 * (20 + 1)
    mended = corrected(run)
    assert mended.ledger == plain.ledger
    assert mended.results == plain.results
    assert mended.time == pytest.approx(plain.time, abs=8 * LATENCY)


@pytest.mark.parametrize("ranks", [3])
def test_a_real_run_is_corrected(real, ranks):
    run = real(skewed_chain, ranks, turns=20)
    mended = corrected(skewed_run(run))
    assert mended.results == [0, 1, 2]
    late = [arrow.start - arrow.end for arrow in mended.timeline.messages]
    assert len(late) == 2
    assert max(late) <= 2 * widest(run)
    assert [ledger.by_kind()["clocks"] for ledger in mended.ledger] == [0, 0, 0]


def shared_and_planted(comm):
    """This machine's own clock first; then planted ones, by the same messages.

    A receive from anybody that is open meanwhile gets the program's message, and none of these.
    """
    word = np.zeros(1)
    if comm.rank == 0 and comm.size > 1:
        anybodys = comm.irecv(word, ANY)
    own = compare_clocks(comm)
    if comm.rank == 1:
        comm.send(np.full(1, 7.0), 0)
    if comm.rank == 0 and comm.size > 1:
        assert (anybodys.wait(), word[0]) == (1, 7)
    wrong = SkewedClock(comm, clock_of(comm.rank))
    begin = compare_clocks(wrong)
    comm.barrier()
    return own, begin, compare_clocks(wrong)


@pytest.mark.parametrize("ground", ["simulated", "real"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_ranks_of_one_machine_have_one_clock_and_planted_ones_are_found(real, ranks, ground):
    run = simulate if ground == "simulated" else real
    for rank, (own, *readings) in enumerate(run(shared_and_planted, ranks).results):
        assert abs(own.ahead) <= own.bound
        assert (own.bound > 0) == (rank > 0)
        for reading in readings:
            truth = clock_of(rank).shown(reading.at) - reading.at
            assert abs(reading.ahead - truth) <= reading.bound * (1 + 1e-3) + 1e-12


def test_what_cannot_be_corrected_is_refused():
    with pytest.raises(TypeError, match=r"with_clocks\(program\)"):
        corrected(simulate(chain, 2))
    with pytest.raises(TypeError, match="must be a function of a communicator"):
        with_clocks(None)
    with pytest.raises(RankFailed, match="turns=0"):
        simulate(lambda comm: compare_clocks(comm, 0), 1)
    once = Reading(1.0, 2.0, 0.1)
    still = Timed(None, 0.0, 0.0, once, once)
    assert (still.drift, still.true(9.0)) == (0, 7)
