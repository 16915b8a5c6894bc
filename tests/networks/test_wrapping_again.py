"""Who wraps one module after another: what is not used any more is given back."""

import gc
import warnings
import weakref
from collections import deque
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.networks.any_module.lent import ROOM, Lent
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.data_parallel.buckets import fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.data_parallel.shared_weights import SharedWeights
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import STAGES
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.training.optimizers.momentum import Momentum

ONE_NODE = TwoLevel(ranks_per_node=8)


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def wrapped(comm, module, **kwargs):
    """What is made of the module, and a step with it."""
    parallel = wrap(comm, module, **kwargs)
    return parallel, lambda x: parallel(x).sum().backward()


def overlapped(comm, module):
    way = Overlapped(comm, fill(module.parameters(), 40))
    return way, lambda x: way.backward(module(x).sum())


def in_shared_memory(comm, module):
    way = SharedWeights(comm, module, rows=1)
    return way, lambda x: way.backward(way(x[:1]).sum())


def of_the_library(comm, module, trainer):
    made = trainer(comm, module, keep=resident(Momentum(0.1)))
    call = made if callable(made) else module

    def step(x):
        call(x).sum().backward()
        made.step()

    return made, step


MAKERS = {
    **{
        f"wrap, stage {stage}{', ' * bool(options)}{', '.join(options)}": partial(
            wrapped, stage=stage, **options
        )
        for stage in range(4)
        for options in ({}, {"rest_whole": True}, {"compute_dtype": torch.float32})
    },
    "overlapped": overlapped,
    "in shared memory": in_shared_memory,
    **{trainer.__name__: partial(of_the_library, trainer=trainer) for trainer in STAGES.values()},
    "Pruned": partial(of_the_library, trainer=partial(Pruned, kept={})),
}


def what_stays(comm, make):
    """After two steps all is let go; whose memory is then still held."""
    module = small()
    made, step = make(comm, module)
    for _ in range(2):
        step(torch.ones(2, 3).double())
    named = {"what was made": made, "module": module} | dict(module.named_parameters())
    held = {name: weakref.ref(each) for name, each in named.items()}
    del made, module, step, named
    gc.collect()
    return [name for name, each in held.items() if each() is not None]


@pytest.mark.parametrize("name", MAKERS)
def test_what_nobody_uses_is_freed(name):
    run = simulate(what_stays, 2, threads=True, network=ONE_NODE, make=MAKERS[name])
    assert run.results == [[]] * 2


def norm_after_a_pass(comm, parallel):
    """Of the gradients of the ranks' means, where each has another example."""
    parallel.zero_grad()
    parallel(torch.full((1, 3), comm.rank + 1.0).double()).sum().backward()
    return parallel.clip(1e9)


def norm_alone(ranks):
    module = small()
    for rank in range(ranks):
        (module(torch.full((1, 3), rank + 1.0).double()).sum() / ranks).backward()
    return nn.utils.clip_grad_norm_(module.parameters(), 1e9).item()


def places_of(parallel):
    """The communicators of a wrapped module."""
    way = parallel.way
    return [way._comm if hasattr(way, "_comm") else way._averages._comm] + [
        unit.comm for unit in getattr(way, "units", [])
    ]


def wraps_again(comm, stage, times=12):
    """Two modules are kept, one of them on the last rank alone. Of the others each rank keeps as
    many as its number says, so ranks let them go at different times. The norms, how many
    communicators, and those lent twice."""
    gc.freeze()  # what is older is not looked at again and again
    first = wrap(comm, small(), stage=stage)
    second = wrap(comm, small(), stage=stage)
    kept = {*places_of(first), *places_of(second)}
    if comm.rank < comm.size - 1:
        del second
    norms, places, twice = [], {*kept}, set()
    latest = deque(maxlen=comm.rank)
    for _ in range(times):
        gc.collect()
        parallel = wrap(comm, small(), stage=stage)
        twice |= kept & {*places_of(parallel)}
        places |= {*places_of(parallel)}
        norms.append(norm_after_a_pass(comm, parallel))
        latest.append(parallel)
        del parallel
    return [norm_after_a_pass(comm, first), *norms], len(places), len(twice)


@pytest.fixture(autouse=True, scope="module")
def collector():
    """As it was before these tests: what lives until the suite ends is not looked at."""
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def check_wrapping(run, ranks, stage):
    units = {0: 0, 1: 0, 2: 0, 3: 2}[stage]
    norms, places, twice = zip(*run.results, strict=True)
    assert np.array(norms) == pytest.approx(norm_alone(ranks), rel=1e-12)
    at_once = 2 + ranks - 1 + 1  # kept, the last rank's latest, and the one that is trained
    assert places == (at_once * (1 + units),) * ranks
    assert twice == (0,) * ranks


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("stage", range(4))
def test_who_wraps_again_needs_few_communicators(stage, ranks):
    check_wrapping(simulate(wraps_again, ranks, threads=True, stage=stage), ranks, stage)


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("stage", range(4))
def test_on_real_ranks_too(real, stage, ranks):
    check_wrapping(real(wraps_again, ranks, stage=stage, timeout=200), ranks, stage)


def trains_without(comm, stage, again):
    """The `Parallel` is dropped, and perhaps another made; then the module itself is called."""
    module = small()
    wrap(comm, module, stage=stage)
    gc.collect()
    kept = wrap(comm, module, stage=stage) if again else None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            (kept or module)(torch.ones(1, 3).double()).sum().backward()
    return [str(each.message).partition(":")[0] for each in seen]


@pytest.mark.real
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_who_drops_what_wrap_returns_is_warned_once(real, stage, again):
    assert (
        real(trains_without, 2, stage=stage, again=again, timeout=100).results
        == [[] if again else ["the Parallel that wrap returned was dropped"]] * 2
    )


def keeps_many(comm, stage, times):
    """How many communicators they have."""
    kept = [wrap(comm, small(), stage=stage) for _ in range(times)]
    norms = [norm_after_a_pass(comm, parallel) for parallel in kept]
    return norms, len({place for parallel in kept for place in places_of(parallel)})


def test_modules_that_are_kept_have_communicators_of_their_own():
    times = 2 * ROOM + 1  # the list grows twice
    run = simulate(keeps_many, 2, threads=True, stage=0, times=times)
    assert run.results == [([pytest.approx(norm_alone(2), rel=1e-12)] * times, times)] * 2


def fails_to_wrap(comm):
    """How many communicators are in use after it."""
    mixed = nn.Linear(3, 4)
    mixed.weight.data = mixed.weight.data.double()
    with pytest.raises(TypeError, match="has parameters of types"):
        wrap(comm, mixed, stage=1)
    return sum(comm.attributes[Lent].in_use)


def test_a_module_that_is_refused_takes_no_communicator():
    assert simulate(fails_to_wrap, 2, threads=True).results == [0, 0]


def goes_back_from(comm, stage):
    """No name keeps what is wrapped; the bytes that the backward pass sends."""
    total = wrap(comm, small(), stage=stage)(torch.ones(1, 3).double()).sum()
    gc.collect()
    before = comm.ledger.bytes_sent
    total.backward()
    return comm.ledger.bytes_sent - before


@pytest.mark.parametrize("stage", range(4))
def test_a_result_keeps_what_its_backward_pass_needs(stage):
    """Gradients go round a ring; in stage 1 and 2 the weights do later, at the next use."""
    trained = sum(p.nbytes for p in small().parameters())
    sent = simulate(goes_back_from, 2, threads=True, stage=stage).results
    assert sum(sent) == {0: 2, 1: 1, 2: 1, 3: 2}[stage] * trained


def breaks_off(comm, stage, forward_again):
    """A backward pass fails; whether the next module gets the same communicator."""
    parallel = wrap(comm, small(), stage=stage)
    parallel.module[0].weight.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        norm_after_a_pass(comm, parallel)
    if forward_again:
        with torch.no_grad():
            parallel(torch.ones(1, 3).double())
    before = places_of(parallel)
    del parallel
    gc.collect()
    parallel = wrap(comm, small(), stage=stage)
    return norm_after_a_pass(comm, parallel), len({*before} & {*places_of(parallel)})


@pytest.mark.parametrize("forward_again", [False, True])
@pytest.mark.parametrize("stage", range(4))
def test_after_an_error_messages_are_never_mixed(stage, forward_again):
    run = simulate(breaks_off, 3, threads=True, stage=stage, forward_again=forward_again)
    assert run.results == [(pytest.approx(norm_alone(3), rel=1e-12), 0)] * 3
