"""Any module, wrapped: trained as by one process, whatever the stage; and what was sent."""

import gc
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_modules import (
    Borrows,
    Language,
    Pictures,
    Statistics,
    language_batches,
    picture_batches,
)

from ddl_teach import simulate, torch_backend
from ddl_teach.comm import Deadlock
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.twin import largest_difference

STAGES, LIMIT = [0, 1, 2, 3], 0.3
CASES = {
    "language, AdamW": (  # which lets what has a gradient of zero decay
        Language,
        language_batches,
        partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.3),
    ),
    "pictures, SGD": (Pictures, picture_batches, partial(torch.optim.SGD, lr=0.1, momentum=0.9)),
}


def scores_of(result):
    return result["scores"] if isinstance(result, dict) else result


def make(case, seed):
    torch.manual_seed(seed)
    return CASES[case][0]().double()


def alone(case, steps=4):
    """One process, the whole batch, torch's own clipping; the norms, and the weights."""
    model, (_, batches, optimizer) = make(case, 0), CASES[case]
    update, norms = optimizer(model.parameters()), []
    for x, y in batches(steps):
        update.zero_grad()
        nn.functional.cross_entropy(scores_of(model(x)), y).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), LIMIT).item())
        update.step()
    return norms, model.state_dict()


def together(comm, case, stage, pieces=1, steps=4):
    """The same over ranks, each batch in so many pieces."""
    parallel = wrap(comm, make(case, comm.rank), stage=stage, nbytes=300)
    loss, (_, batches, optimizer) = parallel.loss(nn.CrossEntropyLoss()), CASES[case]
    update, norms = optimizer(parallel.parameters()), []
    for x, y in batches(steps):
        own = own_slice(len(x), comm)
        parts = list(zip(x[own].tensor_split(pieces), y[own].tensor_split(pieces), strict=True))
        update.zero_grad()
        with parallel.no_sync():
            for some, right in parts[:-1]:
                (loss(scores_of(parallel(some)), right) / pieces).backward()
        (loss(scores_of(parallel(parts[-1][0])), parts[-1][1]) / pieces).backward()
        norms.append(parallel.clip(LIMIT))
        update.step()
    return norms, parallel.state_dict()


def same(run, expected):
    norms, state = expected
    for own_norms, own_state in run.results:
        assert own_norms == pytest.approx(norms, rel=1e-9)
        assert largest_difference(own_state, state) < 1e-10


@pytest.fixture(scope="module")
def twins():
    return {case: alone(case) for case in CASES}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(6)
def test_simulated_ranks_train_as_one(twins, case, stage, ranks):
    same(simulate(together, ranks, case=case, stage=stage, threads=True), twins[case])


@pytest.mark.real
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(36)
def test_real_ranks_do_too(real, twins, case, stage, ranks):
    same(real(together, ranks, case=case, stage=stage, timeout=200), twins[case])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(4)
@pytest.mark.slow
def test_a_batch_in_pieces_travels_once_and_trains_alike(twins, case, stage):
    whole, pieces = (
        simulate(together, 2, case=case, stage=stage, pieces=many, threads=True) for many in (1, 2)
    )
    same(pieces, twins[case])
    more = sum(ledger.bytes_sent for ledger in pieces.ledger)
    more -= sum(ledger.bytes_sent for ledger in whole.ledger)
    counting = 4 * 2 * 8  # one more loss a step, whose answers are counted
    assert more == counting if stage < 3 else more > counting  # weights for each piece


class Ways(nn.Module):
    """A sample goes some of three ways."""

    def __init__(self):
        super().__init__()
        self.ways = nn.ModuleList(nn.Linear(3, 3, bias=way != 1) for way in range(3))

    def forward(self, x, ways):
        return sum(self.ways[way](x) for way in ways)


def without_gradient(comm, kind):
    """Which parameters have none, where no rank goes the last way. In stage 3 all ranks go the
    same ways, for units are gathered when they are called."""
    ways = [0, 1] if kind == 3 else [comm.rank % 2]
    torch.manual_seed(0)
    if kind == "torch":
        torch.distributed.init_process_group(torch_backend.NAME)
        parallel = DistributedDataParallel(Ways().double(), find_unused_parameters=True)
    else:
        parallel = wrap(comm, Ways().double(), stage=kind)
    for zero in (1.0, 0.0):  # a gradient of zeros is one
        parallel.zero_grad()
        (zero * parallel(torch.ones(2, 3).double(), ways)).sum().backward()
        names = [name for name, p in parallel.named_parameters() if p.grad is None]
    return {name.removeprefix("module.") for name in names}


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_what_no_rank_used_has_no_gradient_as_with_torchs_ddp(ranks):
    theirs, *ours = (
        simulate(without_gradient, ranks, kind=kind, threads=True).results
        for kind in ("torch", *STAGES)
    )
    assert theirs == ours[0] == [{"ways.2.weight", "ways.2.bias"}] * ranks
    assert ours[1:] == [[{"ways.2"}] * ranks] * 3


def bytes_of_a_step(comm, stage):
    """What a second step sends, and the bytes of all that is trained."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16)).double()
    trained = sum(p.nbytes for p in model.parameters())
    parallel = wrap(comm, model, stage=stage)
    update, x = torch.optim.SGD(parallel.parameters(), lr=0.1), torch.ones(4, 16).double()
    del model  # what is wrapped keeps all that its hooks need
    gc.collect()
    for _ in range(2):
        before = comm.ledger.bytes_sent
        update.zero_grad()
        parallel(x).square().mean().backward()
        update.step()
    return comm.ledger.bytes_sent - before, trained


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize(("stage", "times"), [(0, 2), (1, 2), (2, 2), (3, 3)])
@pytest.mark.sampled(3)
def test_a_step_sends_what_zero_s_authors_say(stage, times, ranks):
    run = simulate(bytes_of_a_step, ranks, stage=stage, threads=True)
    sent, [trained, *_] = zip(*run.results, strict=True)
    assert sum(sent) == times * (ranks - 1) * trained


def there_and_back(comm, stage):
    torch.manual_seed(comm.rank)
    parallel, other = (wrap(comm, Statistics().double(), stage=stage) for _ in range(2))
    parallel(torch.randn(6, 6).double())
    state = parallel.state_dict()
    other.load_state_dict(state)
    again = other.state_dict()
    x = torch.ones(3, 6).double()
    alike = torch.equal(parallel.eval()(x), other.eval()(x))
    return state, again, alike


@pytest.mark.parametrize("stage", STAGES)
def test_a_state_dict_goes_there_and_back_with_rank_0_s_buffers(stage):
    run = simulate(there_and_back, 3, stage=stage, threads=True)
    for state, again, alike in run.results:
        assert alike
        assert [*state] == [*Statistics().state_dict()] == [*again]
        assert all(torch.equal(state[name], run.results[0][0][name]) for name in state)
        assert all(torch.equal(state[name], again[name]) for name in state)


def go_ways_of_their_own(comm, stage):
    """The gradients' norm where ranks call other units, of the same shape, and small buckets."""
    torch.manual_seed(0)
    parallel = wrap(comm, Ways().double(), stage=stage, nbytes=1)
    parallel(torch.ones(2, 3).double() + comm.rank, [2 * (comm.rank % 2)]).sum().backward()
    return parallel.clip(1e9)


@pytest.mark.parametrize("stage", [0, 1, 2])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_ranks_may_go_through_other_units_of_one_shape(stage, ranks):
    torch.manual_seed(0)
    model = Ways().double()
    for rank in range(ranks):
        (model(torch.ones(2, 3).double() + rank, [2 * (rank % 2)]).sum() / ranks).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()
    run = simulate(go_ways_of_their_own, ranks, stage=stage, threads=True)
    assert run.results == pytest.approx([norm] * ranks, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_in_stage_3_ranks_that_gather_other_units_are_told(ranks):
    """Each unit's weights have as many bytes, so a sum of two would be no error but a number."""
    with pytest.raises(Deadlock, match="called from test_any_module"):
        simulate(go_ways_of_their_own, ranks, stage=3, threads=True)


def turns_about(comm, stage):
    """Backward passes of two modules in another order on rank 0."""
    both = [wrap(comm, nn.Linear(3, 3), stage=stage) for _ in range(2)]
    for parallel in both[:: -1 if comm.rank else 1]:
        parallel(torch.ones(2, 3)).sum().backward()


@pytest.mark.parametrize("stage", STAGES)
def test_modules_in_another_order_are_told(stage):
    with pytest.raises(Deadlock, match="called from test_any_module"):
        simulate(turns_about, 3, stage=stage, threads=True)


class Curious(nn.Module):
    """Complex numbers, parameters in lists and of one number, and a child that comes four times,
    twice by another name."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Linear(3, 3, dtype=torch.complex128)
        self.inner = nn.Linear(3, 3, dtype=torch.float64)
        self.again = nn.ModuleDict({"one": nn.ModuleList([self.inner]), "two": self.inner})
        self.outer = nn.Sequential(self.inner, nn.Sequential(self.inner))
        self.numbers = nn.ParameterList([nn.Parameter(torch.ones(3, dtype=torch.float64))])
        self.factor = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x):
        x = self.outer(self.turn(x.to(torch.complex128)).abs())
        return self.factor * self.again["two"](self.again["one"][0](x)) + self.numbers[0]


def curious(comm, stage):
    torch.manual_seed(0)
    module = Curious()
    parallel = module if comm is None else wrap(comm, module, stage=stage)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        parallel(torch.ones(2, 3)).square().mean().backward()
        clip = partial(nn.utils.clip_grad_norm_, module.parameters()) if comm is None else None
        (clip or parallel.clip)(0.5)
        optimizer.step()
    return {name: x.detach() for name, x in parallel.state_dict().items()}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_module_that_comes_several_times(stage, ranks):
    alone = curious(None, stage)
    run = simulate(curious, ranks, stage=stage, threads=True)
    assert max(largest_difference(state, alone) for state in run.results) < 1e-12


def borrows(comm):
    wrap(comm, Borrows(), stage=3)(torch.ones(2, 6))


def test_a_weight_that_is_used_without_its_unit_is_named():
    with pytest.raises(Exception, match="make the module the unit") as caught:
        simulate(borrows, 2, threads=True)
    assert "units=TheModulesClass" in str(caught.value)


def differ(comm):
    wrap(comm, nn.Linear(3, 3 + comm.rank))


def nothing_to_train(comm):
    wrap(comm, nn.Tanh())


def no_such_stage(comm):
    wrap(comm, nn.Linear(2, 2), stage=4)


def wrapped_twice(comm):
    wrap(comm, nn.Sequential(wrap(comm, nn.Linear(2, 2))))


def sparse(comm, stage):
    wrap(comm, nn.Embedding(5, 3, sparse=True), stage=stage)(torch.arange(4)).sum().backward()


def adds(comm):
    parallel = wrap(comm, nn.Linear(6, 4))
    parallel.loss(nn.CrossEntropyLoss(reduction="sum"))(
        parallel(torch.ones(4, 6)), torch.tensor([0, 1, 2, 3])
    )


def clips_to_nothing(comm, stage=2):
    wrap(comm, nn.Linear(2, 2), stage=stage).clip(0.0)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (differ, "modules differ in names, shapes, types"),
        (nothing_to_train, "no parameter that is trained"),
        (no_such_stage, "stage"),
        (wrapped_twice, "is wrapped already"),
        *((partial(sparse, stage=stage), "with sparse=False") for stage in STAGES),
        (adds, "adds over examples"),
        (clips_to_nothing, "must be larger than 0"),
        (partial(clips_to_nothing, stage=0), "must be larger than 0"),
    ],
)
def test_what_cannot_be_trained_is_refused(program, words):
    with pytest.raises(Exception, match=words):
        simulate(program, 2, threads=True)


def fails_once(comm, stage):
    """The first backward pass is broken off by an error of the learner's, and then all is well."""
    torch.manual_seed(0)
    parallel = wrap(comm, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).double(), stage=stage)
    x = torch.ones(2, 4).double()
    hook = parallel.module[1].weight.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        parallel(x).sum().backward()
    hook.remove()
    parallel.zero_grad()
    parallel.module.zero_grad()
    parallel(x).sum().backward()
    return parallel.clip(1e9)


@pytest.mark.parametrize("stage", STAGES)
def test_after_an_error_in_a_backward_pass_the_next_is_right(stage):
    norms = simulate(fails_once, 2, stage=stage, threads=True).results
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).double()
    model(torch.ones(2, 4).double()).sum().backward()
    right = nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()
    assert norms == pytest.approx([right] * 2, rel=1e-12)
