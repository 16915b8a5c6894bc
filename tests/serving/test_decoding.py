"""A GPT with a cache gives token by token what it gives without; over ranks, with heads split."""

import pytest
import torch
from places import TENSORS

from ddl_teach import simulate
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.serving.decoding import CachedGPT, generate
from ddl_teach.serving.pages import Pages

PROMPTS = torch.tensor([[5, 17, 3, 60], [80, 2, 2, 9]])
NEW = 9
RANKS = [1, 2, 3, 4, 5, 8]


def model():
    return gpt(heads=8, blocks=2, tied=True).double()


def tokens_of(comm=None, where="cpu"):
    """Greedy answers, and drawn ones, with what the ledger says of one more step."""
    if comm is not None:
        comm.device = where
    decoder = CachedGPT(model(), comm, blocks=8, size=4)
    greedy = generate(decoder, PROMPTS, NEW, temperature=0)
    drawn = generate(decoder, PROMPTS, NEW, generator=torch.Generator().manual_seed(1))
    assert len(decoder.pages.free) == 8
    return greedy.tokens, greedy.logs, drawn.tokens, decoder.cache.shape[3]


def whole(tokens):
    """The model without a cache on all tokens at once."""
    return model()(tokens)


@pytest.fixture(scope="module")
def read_again():
    """Greedy answers of a model that reads everything again for each token."""
    tokens = PROMPTS
    for _ in range(NEW):
        best = whole(tokens)[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, best], 1)
    return tokens


def test_a_cache_changes_no_token_and_no_probability(read_again):
    greedy, logs, _, _ = tokens_of()
    assert torch.equal(greedy, read_again[:, 4:])
    expected = whole(read_again).log_softmax(-1)[:, 3:-1].gather(2, greedy[..., None])[..., 0]
    assert (logs - expected).abs().max() < 1e-12


def test_chunks_of_a_prompt_and_requests_of_unlike_lengths_have_the_scores_of_the_whole():
    decoder = CachedGPT(model(), blocks=8, size=3)
    decoder.step([7], PROMPTS[:1, :2])
    decoder.step([7], PROMPTS[:1, 2:])
    decoder.step([9], PROMPTS[1:, :1])
    both = decoder.step([9, 7], torch.tensor([[4, 6], [8, 1]]), every=True)
    assert (both[0] - whole(torch.tensor([[80, 4, 6]]))[0, 1:]).abs().max() < 1e-12
    assert (both[1] - whole(torch.tensor([[5, 17, 3, 60, 8, 1]]))[0, 4:]).abs().max() < 1e-12


@pytest.mark.parametrize("ranks", RANKS)
def test_heads_on_ranks_say_what_one_process_says(ranks, read_again):
    alone = tokens_of()
    results = simulate(tokens_of, ranks).results
    for greedy, logs, drawn, _ in results:
        assert torch.equal(greedy, read_again[:, 4:])
        assert torch.equal(drawn, alone[2])
        assert (logs - alone[1]).abs().max() < 1e-12
    assert sum(heads for *_, heads in results) == 8


@pytest.mark.parametrize("ranks", [2, 3])
def test_real_ranks_say_what_one_process_says(real, ranks, read_again):
    for greedy, *_ in real(tokens_of, ranks).results:
        assert torch.equal(greedy, read_again[:, 4:])


@pytest.mark.parametrize("where", TENSORS)
def test_on_a_device_heads_say_the_same(where, read_again):
    pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
    run = simulate(tokens_of, 2, threads=True, where=where)
    kinds = {message.kind for ledger in run.ledger for message in ledger.messages}
    assert any(kind.startswith("device") for kind in kinds)
    for greedy, logs, drawn, _ in run.results:
        assert torch.equal(greedy, read_again[:, 4:])
        assert torch.equal(drawn, tokens_of()[2])
        assert (logs - tokens_of()[1]).abs().max() < 1e-12


def test_more_ranks_than_heads_are_refused():
    with pytest.raises(Exception, match="8 heads cannot be dealt out to 9 ranks"):
        simulate(tokens_of, 9)


def test_a_text_longer_than_the_model_reads_is_refused():
    with pytest.raises(ValueError, match="reads at most 16 tokens"):
        generate(CachedGPT(model()), PROMPTS, 14, temperature=0)


def test_a_full_cache_is_refused_and_grows_again_after_a_release():
    pages = Pages(3, 4)
    pages.grow(1, 5)
    pages.grow(2, 1)
    with pytest.raises(MemoryError, match="needs 1 more blocks of 4 tokens, and 0 of 3"):
        pages.grow(1, 4)
    assert pages.empty == 6
    pages.release(2)
    pages.grow(1, 4)
    assert len(set(pages.slots(1))) == 9
    pages.cut(1, 4)
    assert len(pages.free) == 2
