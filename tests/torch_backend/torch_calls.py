"""Every call of torch's process groups, and what one process says that it must give."""

import torch
import torch.distributed as dist

SHAPE = (3, 4)


def value(rank, shape=SHAPE, dtype=torch.float64):
    """What a rank has in the beginning: whole numbers, so that any order of sums is exact."""
    numbers = torch.arange(int(torch.Size(shape).numel())).reshape(shape)
    return ((numbers * (rank + 2) + 3 * rank) % 7 + 1).to(dtype)


def stacked(size, **kwargs):
    return torch.stack([value(rank, **kwargs) for rank in range(size)])


def cut(rank, size, rows=2):
    """Blocks of one rank for all ranks, one after another."""
    return value(rank, (size * rows, 3))


class AllReduce:
    def __init__(self, op, combined, dtype=torch.float64, **kwargs):
        self.op, self.combined, self.dtype, self.kwargs = op, combined, dtype, kwargs

    def call(self, rank, size):
        x = value(rank, dtype=self.dtype)
        work = dist.all_reduce(x, self.op, **self.kwargs)
        if work is not None:
            assert work.wait()
            assert work.is_completed()
        return [x]

    def truth(self, rank, size):
        return [self.combined(stacked(size, dtype=self.dtype))]


class Broadcast:
    def call(self, rank, size):
        x = value(rank)
        dist.broadcast(x, size - 1)
        return [x]

    def truth(self, rank, size):
        return [value(size - 1)]


class Reduce:
    def __init__(self, op, combined):
        self.op, self.combined = op, combined

    def call(self, rank, size):
        x = value(rank)
        dist.reduce(x, size // 2, self.op)
        return [x]

    def truth(self, rank, size):
        return [self.combined(stacked(size)) if rank == size // 2 else value(rank)]


class Gather:
    def call(self, rank, size):
        outs = [torch.empty(SHAPE, dtype=torch.float64) for _ in range(size)]
        dist.gather(value(rank), outs if rank == size - 1 else None, dst=size - 1)
        return outs if rank == size - 1 else []

    def truth(self, rank, size):
        return [*stacked(size)] if rank == size - 1 else []


class Scatter:
    def call(self, rank, size):
        out = torch.empty(2, 3, dtype=torch.float64)
        blocks = [*cut(0, size).chunk(size)] if rank == 0 else None
        dist.scatter(out, blocks, src=0)
        return [out]

    def truth(self, rank, size):
        return [cut(0, size).chunk(size)[rank]]


class AllGather:
    def __init__(self, uneven=False):
        self.uneven = uneven

    def mine(self, rank):
        return value(rank, (rank + 1 if self.uneven else 2, 3))

    def call(self, rank, size):
        outs = [torch.empty_like(self.mine(other)) for other in range(size)]
        dist.all_gather(outs, self.mine(rank))
        return outs

    def truth(self, rank, size):
        return [self.mine(other) for other in range(size)]


class AllGatherSingle:
    def call(self, rank, size):
        out = torch.empty(size * SHAPE[0], SHAPE[1], dtype=torch.float64)
        dist.all_gather_single(out, value(rank))
        return [out]

    def truth(self, rank, size):
        return [torch.cat([*stacked(size)])]


class ReduceScatter:
    def __init__(self, uneven=False):
        self.uneven = uneven

    def parts(self, rank, size):
        return [value(rank + to, (to + 1 if self.uneven else 2, 3)) for to in range(size)]

    def call(self, rank, size):
        parts = self.parts(rank, size)
        out = torch.empty_like(parts[rank])
        dist.reduce_scatter(out, parts)
        return [out]

    def truth(self, rank, size):
        return [sum(self.parts(other, size)[rank] for other in range(size))]


class ReduceScatterSingle:
    def call(self, rank, size):
        out, x = torch.empty(2, 3, dtype=torch.float64), cut(rank, size)
        dist.reduce_scatter_single(out, x, dist.ReduceOp.AVG)
        assert x.equal(cut(rank, size))
        return [out]

    def truth(self, rank, size):
        return [sum(cut(other, size) for other in range(size)).chunk(size)[rank] / size]


class AllToAll:
    def __init__(self, uneven=False):
        self.uneven = uneven

    def part(self, rank, to):
        return value(3 * rank + to, (rank + to if self.uneven else 2, 3))

    def call(self, rank, size):
        outs = [torch.empty_like(self.part(other, rank)) for other in range(size)]
        dist.all_to_all(outs, [self.part(rank, to) for to in range(size)])
        return outs

    def truth(self, rank, size):
        return [self.part(other, rank) for other in range(size)]


class AllToAllSingle(AllToAll):
    def call(self, rank, size):
        parts = [self.part(rank, to) for to in range(size)]
        outs = [self.part(other, rank) for other in range(size)]
        out, splits = torch.empty_like(torch.cat(outs)), {}
        if self.uneven:
            splits["output_split_sizes"] = [len(part) for part in outs]
            splits["input_split_sizes"] = [len(part) for part in parts]
        dist.all_to_all_single(out, torch.cat(parts), **splits)
        return [out]

    def truth(self, rank, size):
        return [torch.cat(super().truth(rank, size))]


class Coalesced:
    """Several collectives at once."""

    def call(self, rank, size):
        from torch.distributed.distributed_c10d import _coalescing_manager

        x, y = value(rank), value(rank + 1)
        with _coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(y)
        wholes = [torch.empty(size * 3, 4, dtype=torch.float64) for _ in range(2)]
        with _coalescing_manager(async_ops=True) as works:
            dist.all_gather_single(wholes[0], value(rank))
            dist.all_gather_single(wholes[1], value(rank + 1))
        works.wait()
        outs = [torch.empty(2, 3, dtype=torch.float64) for _ in range(2)]
        with _coalescing_manager():
            dist.reduce_scatter_single(outs[0], cut(rank, size))
            dist.reduce_scatter_single(outs[1], cut(rank + 1, size))
        return [x, y, *wholes, *outs]

    def truth(self, rank, size):
        both = [stacked(size), stacked(size + 1)[1:]]
        sums = [sum(cut(r + i, size) for r in range(size)).chunk(size)[rank] for i in range(2)]
        return [*(b.sum(0) for b in both), *(torch.cat([*b]) for b in both), *sums]


class OldNames:
    """Calls that torch would rather have under other names."""

    def call(self, rank, size):
        x, y = value(rank), value(rank + 1)
        dist.all_reduce_coalesced([x, y], dist.ReduceOp.MAX)
        lists = [[torch.empty_like(x), torch.empty_like(y)] for _ in range(size)]
        dist.all_gather_coalesced(lists, [value(rank), value(rank + 1)])
        whole, part = torch.empty(size * 3, 4, dtype=x.dtype), torch.empty(2, 3, dtype=x.dtype)
        dist.all_gather_into_tensor(whole, value(rank))
        dist.reduce_scatter_tensor(part, cut(rank, size), dist.ReduceOp.MAX)
        return [x, y, *(tensor for both in lists for tensor in both), whole, part]

    def truth(self, rank, size):
        largest = [torch.stack([value(r + i) for r in range(size)]).amax(0) for i in (0, 1)]
        pairs = [value(r + i) for r in range(size) for i in (0, 1)]
        parts = torch.stack([cut(r, size) for r in range(size)]).amax(0).chunk(size)
        return [*largest, *pairs, torch.cat([*stacked(size)]), parts[rank]]


class SendReceive:
    """Round a ring: a message that waits, and one that does not; then from whoever sends first."""

    def call(self, rank, size):
        if size == 1:
            return []
        right, left = (rank + 1) % size, (rank - 1) % size
        x, y, z = (torch.empty(SHAPE, dtype=torch.float64) for _ in range(3))
        sent = dist.isend(value(rank), right, tag=5)
        dist.recv(x, left, tag=5)
        sent.wait()
        coming = dist.irecv(y, left)
        dist.send(value(rank + 1), right)
        coming.wait()
        if rank == 0:
            dist.send(value(9), 1, tag=7)
        elif rank == 1:
            assert dist.recv(z, tag=7) == 0
            return [x, y, z]
        return [x, y]

    def truth(self, rank, size):
        left = (rank - 1) % size
        all_three = [value(left), value(left + 1), value(9)]
        return [] if size == 1 else all_three[: 3 if rank == 1 else 2]


class Asked:
    """A program may ask whether a call has ended, until it has."""

    def call(self, rank, size):
        x, y = value(rank), torch.empty(SHAPE, dtype=torch.float64)
        works = [dist.all_reduce(x, async_op=True)]
        if size > 1:
            works += [dist.irecv(y, (rank - 1) % size), dist.isend(value(rank), (rank + 1) % size)]
        for work in works:
            while not work.is_completed():
                pass
        return [x, y][: min(size, 2)]

    def truth(self, rank, size):
        return [stacked(size).sum(0), value((rank - 1) % size)][: min(size, 2)]


class Batch:
    def call(self, rank, size):
        right, left = (rank + 1) % size, (rank - 1) % size
        x = torch.empty(SHAPE, dtype=torch.float64)
        calls = [dist.P2POp(dist.isend, value(rank), right), dist.P2POp(dist.irecv, x, left)]
        for work in dist.batch_isend_irecv(calls):
            work.wait()
        return [x]

    def truth(self, rank, size):
        return [value((rank - 1) % size)]


class Objects:
    """Python's objects, in all the ways that torch knows."""

    def call(self, rank, size):
        everything, first, own = [None] * size, ["the root's" if rank == 0 else None], [None]
        dist.all_gather_object(everything, {"rank": rank})
        dist.broadcast_object_list(first, 0)
        dist.scatter_object_list(own, [*range(size)] if rank == 0 else None, src=0)
        assert everything == [{"rank": other} for other in range(size)]
        assert first == ["the root's"]
        return [torch.tensor(own)]

    def truth(self, rank, size):
        return [torch.tensor([rank])]


class Barrier:
    def call(self, rank, size):
        dist.barrier()
        dist.barrier(async_op=True).wait()
        return []

    def truth(self, rank, size):
        return []


class Groups:
    """Even ranks and odd ones; and a group that its members alone ask for."""

    def call(self, rank, size):
        halves = [dist.new_group([r for r in range(size) if r % 2 == i] or [0]) for i in (0, 1)]
        x, y = value(rank), value(rank)
        dist.all_reduce(x, group=halves[rank % 2])
        if rank in (0, size - 1):
            ranks = sorted({0, size - 1})
            pair = dist.new_group(ranks, use_local_synchronization=True)
            dist.broadcast(y, size - 1, group=pair)
            dist.destroy_process_group(pair)
        return [x, y]

    def truth(self, rank, size):
        own = [value(other) for other in range(size) if other % 2 == rank % 2]
        return [sum(own), value(size - 1 if rank in (0, size - 1) else rank)]


class EightBits:
    """Numbers of eight bits travel as they are; no sums of them are taken."""

    def call(self, rank, size):
        x = torch.full((2, 3), float(rank == 0)).to(torch.float8_e4m3fn)
        whole = torch.empty(2 * size, 3, dtype=x.dtype)
        dist.all_gather_single(whole, x)
        dist.broadcast(x, 0)
        return [whole.float(), x.float()]

    def truth(self, rank, size):
        first = torch.arange(2 * size) < 2
        return [first[:, None].float().expand(-1, 3), torch.ones(2, 3)]


class OtherBackends:
    """Groups that ask for another backend."""

    def call(self, rank, size):
        x = value(rank)
        everybody = dist.new_group(backend="gloo")
        dist.all_reduce(x, group=everybody)
        assert dist.get_backend(everybody) == "ddl_teach"
        return [x]

    def truth(self, rank, size):
        return [stacked(size).sum(0)]


OP = dist.ReduceOp
CALLS = {
    "all-reduce, sum": AllReduce(OP.SUM, lambda x: x.sum(0)),
    "all-reduce, mean": AllReduce(OP.AVG, lambda x: x.mean(0)),
    "all-reduce, min": AllReduce(OP.MIN, lambda x: x.amin(0)),
    "all-reduce, max": AllReduce(OP.MAX, lambda x: x.amax(0)),
    "all-reduce, product": AllReduce(OP.PRODUCT, lambda x: x.prod(0)),
    "all-reduce, asynchronous": AllReduce(OP.SUM, lambda x: x.sum(0), async_op=True),
    "all-reduce, bfloat16": AllReduce(OP.SUM, lambda x: x.sum(0), torch.bfloat16),
    "all-reduce, mean of bfloat16": AllReduce(OP.AVG, lambda x: x.mean(0), torch.bfloat16),
    "all-reduce, complex": AllReduce(OP.SUM, lambda x: x.sum(0), torch.complex128),
    "all-reduce, bits": AllReduce(
        OP.BAND,
        lambda x: (x & 4 == 4).all(0) * 4 + (x & 2 == 2).all(0) * 2 + (x & 1 == 1).all(0),
        torch.int64,
    ),
    "broadcast": Broadcast(),
    "reduce, max": Reduce(OP.MAX, lambda x: x.amax(0)),
    "reduce, mean": Reduce(OP.AVG, lambda x: x.mean(0)),
    "gather": Gather(),
    "scatter": Scatter(),
    "all-gather": AllGather(),
    "all-gather, uneven": AllGather(uneven=True),
    "all-gather, single": AllGatherSingle(),
    "reduce-scatter": ReduceScatter(),
    "reduce-scatter, uneven": ReduceScatter(uneven=True),
    "reduce-scatter, single": ReduceScatterSingle(),
    "all-to-all": AllToAll(),
    "all-to-all, uneven": AllToAll(uneven=True),
    "all-to-all, single": AllToAllSingle(),
    "all-to-all, single, uneven": AllToAllSingle(uneven=True),
    "coalesced": Coalesced(),
    "old names": OldNames(),
    "send and receive": SendReceive(),
    "asked whether it has ended": Asked(),
    "batch of messages": Batch(),
    "objects": Objects(),
    "eight bits": EightBits(),
    "other backends": OtherBackends(),
    "barrier": Barrier(),
    "groups": Groups(),
}
