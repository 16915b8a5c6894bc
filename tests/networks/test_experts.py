"""Experts spread over ranks train as the twin does, and send what the actual routing says."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from deaf import Deaf
from networks.mixture import balance_loss, mixture_network

from ddl_measure.experiments.layers import experts as only_time
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import simulate
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.experts import spread
from ddl_teach.networks.experts.exchange import exchange
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.routing import admitted, route
from ddl_teach.networks.experts.spread import full_parameters, owners_of, spread_experts
from ddl_teach.networks.models import data
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.twin import largest_difference, train
from ddl_teach.plain.balanced_experts import next_bias, pack, spare_copies
from ddl_teach.theory import experts as theory
from ddl_teach.theory.ring_bytes import allreduce

RANKS = (1, 2, 3, 4, 6, 8)
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
STEPS, WIDTH = 10, 6
CASES = {  # experts, chosen, factor, examples in a batch
    "two of eight": (8, 2, 1.25, 24),
    "switch": (8, 1, 1.0, 24),
    "room for all": (5, 3, math.inf, 7),
    "ranks without experts, and without tokens": (3, 2, 1.0, 5),
    "all to one": (8, 1, math.inf, 24),
    "all to one, and little room": (8, 2, 1.5, 24),
}


def network_for(case, kind):
    experts, chosen, factor, _ = CASES[case]
    network = mixture_network(64, WIDTH, 8, experts, chosen=chosen, factor=factor).to(kind)
    if case.startswith("all to one"):  # a token's first number decides
        with torch.no_grad():
            network.enter.weight[0], network.enter.bias[0] = 0.0, 1.0
            network.head.weight[:, 0] = 0.0
            network.mixture.gate.weight[:, 0] = -20.0 * torch.arange(experts, dtype=kind)
    return network


def batches_for(case, kind):
    images, labels = data.digits(flat=True)
    made = data.batches((images[:200], labels[:200]), CASES[case][-1], STEPS)
    return [(x.to(kind), y) for x, y in made]


@cache
def twin(case, kind):
    network = network_for(case, kind)
    dropped = []

    def loss(scores, targets):
        dropped.append(network.mixture.routing.dropped)
        return mean_loss(scores, targets) + 0.01 * balance_loss(network)

    return train(network, batches_for(case, kind), loss=loss).parameters, dropped


def every_case(comm, kind):
    """Of each case the parameters after ten steps, the bytes, what was routed; and when deaf."""
    found = {}
    for case in CASES:
        for heard in (True, False) if comm.size in (2, 3) else (True,):
            network, rows, dropped = network_for(case, kind), [], []
            spread_experts(network, comm if heard else Deaf(comm))

            def loss(scores, targets):
                rows.append(network.mixture.routing.rows.tolist())  # noqa: B023
                dropped.append(network.mixture.routing.dropped)  # noqa: B023
                own = weighted_loss(mean_loss, scores, targets, next(answers), 1)  # noqa: B023
                return own + 0.01 * balance_loss(network)  # noqa: B023

            batches = batches_for(case, kind)  # the last of a pass has fewer examples
            answers = iter([len(labels) for _, labels in batches])
            before = comm.ledger.bytes_sent
            train(network, [own_part(comm, one) for one in batches], loss=loss)
            sent = comm.ledger.bytes_sent - before
            full, owners = full_parameters(network, comm), owners_of(network.mixture)
            found[case, heard] = full, sent, rows, dropped, owners
    return found


def rows_sent(rows, owners, rank, width, itemsize):
    """Bytes that a rank sends forwards, or backwards: its rows, and answers to those of others."""
    rows, own = np.asarray(rows), np.asarray(owners) == rank
    crossing = rows[rank, ~own].sum() + rows[:, own].sum() - rows[rank, own].sum()
    return int(crossing) * width * itemsize


def step_bytes(case, kind, rows, owners, ranks, rank):
    """What the formulas say for this routing: counts, rows there and back, sums of gradients."""
    experts, chosen, *_ = CASES[case]
    shared = [64 * WIDTH, WIDTH, experts * WIDTH, WIDTH * 10, 10]
    return (
        8 * (ranks - 1) * chosen * experts
        + 2 * rows_sent(rows, owners, rank, WIDTH, kind.itemsize)
        + sum(allreduce(numbers, ranks, rank, kind.itemsize) for numbers in shared)
    )


def assert_as_the_twin(run, kind):
    ranks = len(run.results)
    for rank, found in enumerate(run.results):
        for (case, heard), (parameters, sent, rows, _, owners) in found.items():
            whole, dropped = twin(case, kind)
            difference = largest_difference(parameters, whole)
            if not heard:
                assert not difference < 1e-3, case
                continue
            assert difference < CLOSE[kind], case
            wanted = [step_bytes(case, kind, one, owners, ranks, rank) for one in rows]
            assert sent == sum(wanted), case
            everybodys = np.sum([other[case, True][3] for other in run.results], axis=0)
            assert everybodys.tolist() == dropped
            if case.startswith("all to one"):
                assert np.sum(rows[:3], axis=(0, 1))[CASES[case][1] :].sum() == 0


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(2)
def test_real_ranks_train_as_the_twin(ranks, real):
    run = real(every_case, ranks, kind=torch.float64, trace=False, timeout=600)
    assert_as_the_twin(run, torch.float64)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "kind"), [(3, torch.float64), (8, torch.float32)])
def test_simulated_ranks_do_too_in_both_precisions(ranks, kind):
    run = simulate(every_case, ranks, threads=True, trace=False, kind=kind)
    assert_as_the_twin(run, kind)


@pytest.mark.parametrize("case", CASES)
def test_the_cases_are_what_they_say(case):
    *_, factor, _ = CASES[case]
    dropped = twin(case, torch.float64)[1]
    assert (max(dropped) > 0) == (factor < math.inf)


def test_first_choices_come_first_and_nobody_is_admitted_beyond_the_room():
    generator = np.random.default_rng(5)
    for _ in range(50):
        ranks, chosen, experts, room = generator.integers(1, 5, 4)
        counts = torch.from_numpy(generator.integers(0, 4, (ranks, chosen, experts)))
        wanted, left = torch.zeros_like(counts), [room] * experts
        for choice in range(chosen):
            for rank in range(ranks):
                for expert in range(experts):
                    many = min(int(counts[rank, choice, expert]), left[expert])
                    wanted[rank, choice, expert] = many
                    left[expert] -= many
        assert torch.equal(admitted(counts, int(room)), wanted)


def test_a_token_counts_by_its_gate_and_balance_is_one_where_all_are_liked_alike():
    scores = torch.eye(4, dtype=torch.float64).repeat(5, 1) * 3
    one = route(scores, 1, 1.0)
    assert one.dropped == 0
    assert torch.allclose(one.weights, scores.softmax(1).amax(1)[one.tokens])
    assert one.balance.item() == pytest.approx(1.0)
    assert one.tokens.tolist() == [expert + 4 * turn for expert in range(4) for turn in range(5)]
    two = route(scores + torch.tensor([0.3, 0.2, 0.1, 0.0]), 2, math.inf)
    assert torch.allclose(torch.zeros(20).double().index_add(0, two.tokens, two.weights),
                          torch.ones(20).double())  # fmt: skip
    crowd = torch.full((20, 4), -50.0).index_fill(1, torch.tensor(0), 50.0)
    all_to_one = route(crowd, 1, 1.0)
    assert all_to_one.balance.item() == pytest.approx(4.0)
    assert (all_to_one.dropped, all_to_one.rows.tolist()) == (15, [[5, 0, 0, 0]])


def rows_travel(comm, many):
    """What comes by `exchange` of rows that say where they are from, and what comes back."""
    mine = [(comm.rank, to, row) for to, rows in enumerate(many[comm.rank]) for row in range(rows)]
    x = torch.tensor(mine, dtype=torch.float64).reshape(-1, 3).requires_grad_()
    came = exchange(comm, x, many[comm.rank], [own[comm.rank] for own in many])
    (came * came.detach()).sum().backward()
    return came.detach(), x.grad, x.detach()


def test_rows_of_any_number_arrive_in_order_and_gradients_go_back(real):
    many = np.random.default_rng(2).integers(0, 4, (4, 4))
    many[1] = many[:, 2] = 0  # who sends nothing, and who gets nothing
    for run in (real(rows_travel, 4, many=many.tolist()),
                simulate(rows_travel, 4, threads=True, many=many.tolist())):  # fmt: skip
        for rank, (came, gradient, sent) in enumerate(run.results):
            wanted = [[r, rank, row] for r in range(4) for row in range(many[r, rank])]
            assert came.tolist() == wanted
            assert torch.equal(gradient, sent)
            leaving = int(many[rank].sum() - many[rank, rank])
            arriving = int(many[:, rank].sum() - many[rank, rank])
            assert run.ledger[rank].bytes_sent == (leaving + arriving) * 3 * 8


def test_an_expert_takes_a_factor_times_its_even_share():
    assert theory.capacity(48, 8, 2, 1.25) == 15
    assert theory.capacity(48, 8, 2, math.inf) == 96


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="chosen=5: a token takes between 1 and all 4 experts"):
        MixtureOfExperts(4, 8, 4, chosen=5)
    with pytest.raises(ValueError, match="factor=0 must be above 0: an expert takes"):
        MixtureOfExperts(4, 8, 4, factor=0)
    with pytest.raises(ValueError, match="Linear has no MixtureOfExperts"):
        spread_experts(torch.nn.Linear(2, 2), None)
    layer = MixtureOfExperts(4, 8, 4)
    texts = torch.randn(3, 5, 4)
    assert torch.equal(layer(texts), layer(texts.flatten(0, 1)).view(3, 5, 4))


def test_the_layer_takes_as_long_as_its_most_liked_rank():
    ranks, experts, width, hidden = 8, 16, 32, 64
    owners = [expert * ranks // experts for expert in range(experts)]
    even = np.full((ranks, experts), 5)
    crowd = even.copy()
    crowd[:, 1:], crowd[:, 0] = 1, 65  # as many rows in all
    shape = {"owners": owners, "width": width, "hidden": hidden}
    free, machine = Uniform(0.0, 1e300), Machine(flops=1e9)
    for rows in (even, crowd):
        run = simulate(only_time, ranks, network=free, machine=machine, rows=rows, **shape)
        assert sum(run.results) == rows.sum()
        most = max(rows[:, 2 * rank : 2 * rank + 2].sum() for rank in range(ranks))
        assert run.time == pytest.approx(4 * width * hidden * most / 1e9)
        for rank, ledger in enumerate(run.ledger):
            counts = 8 * (ranks - 1) * experts
            assert ledger.bytes_sent == counts + rows_sent(rows, owners, rank, width, 4)


def with_a_bias(comm):
    """The parameters, loads and bias of ten steps with a bias that moves."""
    network, loads = network_for("two of eight", torch.float64), []
    network.mixture.factor = math.inf
    if comm is not None:
        spread_experts(network, comm)
    batches = batches_for("two of eight", torch.float64)
    answers = iter([len(labels) for _, labels in batches])

    def loss(scores, targets):
        loads.append(network.mixture.routing.rows.sum(0).tolist())
        bias = np.zeros(8) if network.mixture.bias is None else network.mixture.bias.numpy()
        network.mixture.bias = torch.from_numpy(next_bias(bias, np.array(loads[-1]), 0.02))
        if comm is None:
            return mean_loss(scores, targets)
        return weighted_loss(mean_loss, scores, targets, next(answers), 1)

    if comm is None:
        return train(network, batches, loss=loss).parameters, loads, network.mixture.bias
    train(network, [own_part(comm, batch) for batch in batches], loss=loss)
    return full_parameters(network, comm), loads, network.mixture.bias


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_with_a_bias_ranks_train_as_the_twin_does_and_lose_no_token(real, ranks):
    theirs, their_loads, their_bias = with_a_bias(None)
    for parameters, loads, bias in real(with_a_bias, ranks).results:
        assert largest_difference(parameters, theirs) < CLOSE[torch.float64]
        assert loads == their_loads
        assert torch.equal(bias, their_bias)
    given = [len(labels) for _, labels in batches_for("two of eight", torch.float64)]
    assert [sum(row) for row in their_loads] == [2 * tokens for tokens in given]
    assert their_bias.abs().max() > 0


def test_a_bias_chooses_and_does_not_weigh():
    scores = torch.tensor([[2.0, 1.0, 0.0]])
    plain, moved = route(scores, 1, 9.0), route(scores, 1, 9.0, bias=torch.tensor([0.0, 1, 0]))
    assert plain.rows.tolist() == [[1, 0, 0]]
    assert moved.rows.tolist() == [[0, 1, 0]]
    assert torch.equal(moved.weights, scores.softmax(1)[:, 1])


EXPERTS = 8
COPIES = {  # spare places with copies of the experts that most tokens take
    "two spare places": [[0, 1, 2, 3, 7], [4, 5, 6, 7, 0]],
    "one expert everywhere": [[0, 1, 2], [3, 0, 4], [5, 6, 7, 0]],
    "a rank of copies alone": [[0, 1, 2, 3], [4, 5, 6, 7], [0, 4], [6, 0]],
    "packed": None,
}


def packed(ranks):
    """Half as many places again, given away and packed as DeepSeek-V3 does it."""
    loads = 1 / np.arange(1.0, EXPERTS + 1)
    places = EXPERTS + ranks * -(-EXPERTS // (2 * ranks))
    places += -places % ranks
    return pack(loads, spare_copies(loads, places), ranks)


def with_copies(comm, places):
    """What ten steps end with, the bytes of this rank, its rows in each step, and the copies."""
    network, rows = network_for("two of eight", torch.float64), []
    spread_experts(network, comm, places)
    batches = batches_for("two of eight", torch.float64)
    answers = iter([len(labels) for _, labels in batches])

    def loss(scores, targets):
        rows.append(network.mixture.routing.rows.tolist())
        own = weighted_loss(mean_loss, scores, targets, next(answers), 1)
        return own + 0.01 * balance_loss(network)

    before = comm.ledger.bytes_sent
    train(network, [own_part(comm, batch) for batch in batches], loss=loss)
    sent = comm.ledger.bytes_sent - before
    mine = {name: value.detach() for name, value in network.mixture.experts.named_parameters()}
    return full_parameters(network, comm), sent, rows, mine


def copies_of(rows, holders):
    """Of each rank's rows for an expert, those that go to each of its copies: a row at a time."""
    senders = [rank for rank, many in enumerate(rows) for _ in range(many)]
    taken = np.zeros((len(rows), len(rows)), int)
    for number, rank in enumerate(senders):
        # The copy whose equal part of all rows this one is in.
        turn = next(k for k in range(len(holders))
                    if number < len(senders) * (k + 1) // len(holders))  # fmt: skip
        taken[rank, holders[turn]] += 1
    return taken


def bytes_with_copies(rows, places, rank):
    """What the formulas say for this routing: as without copies, and the sums of copies."""
    ranks = len(places)
    holders = [[r for r in range(ranks) if e in places[r]] for e in range(EXPERTS)]
    taken = sum(copies_of([row[e] for row in rows], holders[e]) for e in range(EXPERTS))
    crossing = taken[rank].sum() + taken[:, rank].sum() - 2 * taken[rank, rank]
    shared = [64 * WIDTH, WIDTH, EXPERTS * WIDTH, WIDTH * 10, 10]
    of_copies = sum(
        allreduce(numbers, len(held), held.index(rank), 8)
        for held in holders if rank in held
        for numbers in (8 * WIDTH, 8, WIDTH * 8, WIDTH)
    )  # fmt: skip
    sums = sum(allreduce(numbers, ranks, rank, 8) for numbers in shared)
    return 8 * (ranks - 1) * 2 * EXPERTS + 2 * int(crossing) * WIDTH * 8 + sums + of_copies


def cases_of_copies():
    return [(name, len(places)) for name, places in COPIES.items() if places] + [
        ("packed", ranks) for ranks in RANKS[1:]
    ]


@pytest.mark.parametrize(("name", "ranks"), cases_of_copies())
@pytest.mark.sampled(4)
def test_with_copies_of_experts_ranks_train_as_the_twin_does(name, ranks, real):
    places = COPIES[name] or packed(ranks)
    whole, _ = twin("two of eight", torch.float64)
    simulated = simulate(with_copies, ranks, threads=True, trace=False, places=places)
    for run in (simulated, real(with_copies, ranks, places=places, trace=False)):
        for rank, (parameters, sent, rows, mine) in enumerate(run.results):
            assert largest_difference(parameters, whole) < 1e-12
            assert sent == sum(bytes_with_copies(step, places, rank) for step in rows)
            for parameter, value in mine.items():  # all copies are one expert, to the bit
                assert torch.equal(value, parameters[f"mixture.experts.{parameter}"])


def test_copies_that_do_not_add_up_their_gradients_part(monkeypatch):
    def of_all_ranks_alone(group, parameters):
        if group.size == 4:  # no expert is on all ranks
            sum_gradients(group, parameters)

    monkeypatch.setattr(spread, "sum_gradients", of_all_ranks_alone)
    places = COPIES["a rank of copies alone"]
    run = simulate(with_copies, 4, threads=True, trace=False, places=places)
    whole, _ = twin("two of eight", torch.float64)
    assert largest_difference(run.results[0][0], whole) > 1e-3


@pytest.mark.parametrize("places", [[[0, 1]], [[0], [1, 2]], [[0, 1, 2], [3, 4, 5, 6, 8]]])
def test_places_that_leave_an_expert_out_are_refused(places):
    network = network_for("two of eight", torch.float64)

    with pytest.raises(Exception, match=r"a list for each of 2 ranks\. Each expert from 0 to 7"):
        simulate(lambda comm: spread_experts(network, comm, places), 2, threads=True)
