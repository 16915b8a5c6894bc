"""Prompts are read on some ranks, answers written on others: the cache travels between them.

A reader and a writer that share heads exchange one message. Whatever the sizes of both groups, in
all they carry each head once: `theory.serving.ServedModel.cache_bytes` for each token. Patel et
al., "Splitwise: efficient generative LLM inference using phase splitting", ISCA 2024; Zhong et
al., "DistServe", OSDI 2024.
What to look at: with groups of unlike sizes a rank needs the heads of several others.
"""

from ddl_teach.comm import Comm
from ddl_teach.networks.shares import share
from ddl_teach.serving.decoding import CachedGPT


def shared_heads(heads: int, readers: int, reader: int, writers: int, writer: int) -> range:
    """The heads that both of these ranks hold, if heads are split over both groups."""
    mine, theirs = share(heads, readers, reader), share(heads, writers, writer)
    return range(max(mine.start, theirs.start), min(mine.stop, theirs.stop))


def hand_over(comm: Comm, decoder: CachedGPT, request: int, tokens: int, readers: int) -> None:
    """The first `readers` ranks of `comm` have read a request of `tokens` tokens, and release it;
    all others take it over."""
    heads, writers = decoder.heads, comm.size - readers
    if not 0 < readers < comm.size:
        raise ValueError(f"readers={readers} of {comm.size} ranks: leave at least one to write")
    if comm.rank < readers:
        cache, first = decoder.read(request), share(heads, readers, comm.rank).start
        for writer in range(writers):
            part = shared_heads(heads, readers, comm.rank, writers, writer)
            if part:
                mine = cache[:, :, :, part.start - first : part.stop - first]
                comm.send(mine.contiguous(), readers + writer)
        decoder.pages.release(request)
        return
    writer = comm.rank - readers
    first, (layers, _, _, own, each) = share(heads, writers, writer).start, decoder.cache.shape
    cache = decoder.cache.new_empty(layers, 2, tokens, own, each)
    for reader in range(readers):
        part = shared_heads(heads, readers, reader, writers, writer)
        if part:
            arriving = cache.new_empty(layers, 2, tokens, len(part), each)
            comm.recv(arriving, reader)
            cache[:, :, :, part.start - first : part.stop - first] = arriving
    decoder.write(request, cache)
