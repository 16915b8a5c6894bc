"""Prompts read on some ranks, answers written on others: same tokens, bytes by formula."""

import pytest
import torch

from ddl_teach import simulate
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.serving.decoding import CachedGPT, draw
from ddl_teach.serving.handover import hand_over
from ddl_teach.theory.serving import ServedModel

PROMPT = torch.tensor([[5, 17, 3, 60, 9]])
NEW = 6
SIZES = ServedModel(0, layers=2, width=32, keys=32, itemsize=8)
GROUPS = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2), (4, 4), (3, 5)]


def apart(comm, readers):
    """Greedy tokens of the writers, and the bytes that this rank sent to hand over."""
    reads = comm.rank < readers
    group = comm.split(int(reads), comm.rank)
    decoder = CachedGPT(gpt(heads=8).double(), group)
    if reads:
        token = draw(decoder.step([7], PROMPT), 0, None)
        if comm.rank == 0:
            for writer in range(readers, comm.size):
                comm.send(token, writer)
    else:
        token = torch.empty((1, 1), dtype=torch.int64)
        comm.recv(token, 0)
    before = comm.ledger.bytes_sent
    hand_over(comm, decoder, 7, 5, readers)
    sent, tokens = comm.ledger.bytes_sent - before, [token]
    while not reads and len(tokens) < NEW:
        tokens.append(draw(decoder.step([7], tokens[-1]), 0, None))
    return sent, torch.cat(tokens, 1).tolist(), len(decoder.pages.free)


@pytest.fixture(scope="module")
def whole():
    """The tokens of one process without a cache."""
    tokens = PROMPT
    for _ in range(NEW):
        best = gpt(heads=8).double()(tokens)[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, best], 1)
    return tokens[:, 5:].tolist()


def agrees(results, readers, whole):
    assert sum(sent for sent, *_ in results) == 5 * SIZES.cache_bytes
    assert all(free == 64 for *_, free in results[:readers])
    assert all(tokens == whole for _, tokens, _ in results[readers:])


@pytest.mark.parametrize(("readers", "writers"), GROUPS)
def test_writers_go_on_where_readers_end(readers, writers, whole):
    results = simulate(apart, readers + writers, readers=readers).results
    agrees(results, readers, whole)


def test_real_writers_go_on_where_readers_end(real, whole):
    agrees(real(apart, 5, readers=2).results, 2, whole)


def test_a_group_without_ranks_is_refused():
    with pytest.raises(Exception, match="leave at least one to write"):
        simulate(lambda comm: hand_over(comm, CachedGPT(gpt()), 0, 1, 2), 2)
