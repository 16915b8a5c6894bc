"""Usual mistakes of unit 10, and words of the message that names each."""

from collections import deque

import numpy as np

from ddl_teach.comm import ANY


def stage(own=lambda x, y: x, factor=True, receives_first=False):
    """The solution, with one thing done in another way."""

    def receive(comm, rank, own):
        arriving = np.array(own)
        if 0 <= rank < comm.size:
            comm.recv(arriving, rank)
        return arriving

    def send(comm, x, rank):
        if 0 <= rank < comm.size:
            comm.send(x, rank)

    def one_micro_batch(comm, weight, x):
        x = receive(comm, comm.rank - 1, x)
        y = weight * x
        gradient = receive(comm, comm.rank + 1, y) if receives_first else y
        send(comm, y, comm.rank + 1)
        gradient = gradient if receives_first else receive(comm, comm.rank + 1, y)
        send(comm, weight * gradient if factor else gradient, comm.rank - 1)
        return gradient @ own(x, y)

    return one_micro_batch


def halves(undone=lambda rank, ranks: rank, ahead=lambda rank, ranks: ranks - 1 - rank):
    """The order H1, with other numbers of W left undone or another lead."""

    def zero_bubble_order(rank, ranks, micro_batches):
        late = undone(rank, ranks)
        first = _ahead(rank, ranks, micro_batches, min(ahead(rank, ranks), micro_batches))
        words = []
        for word in first:
            part = int(word[1:])
            words += [word] if word[0] == "F" else [f"I{part}", f"W{part - late}"]
        rest = [f"W{part}" for part in range(max(0, micro_batches - late), micro_batches)]
        return [word for word in words if "-" not in word] + rest

    return zero_bubble_order


def percent(ranks, micro_batches):
    return 100 * (ranks - 1) / (micro_batches + ranks - 1)


def divided_by_work(ranks, micro_batches):
    return (ranks - 1) / micro_batches


def one_rank_too_many(ranks, micro_batches):
    return ranks / (micro_batches + ranks)


def busy_share(ranks, micro_batches):
    return micro_batches / (micro_batches + ranks - 1)


def printed(ranks, micro_batches):
    print((ranks - 1) / (micro_batches + ranks - 1))


def one_at_a_time(rank, ranks, micro_batches):
    return [f"{kind}{one}" for one in range(micro_batches) for kind in "FB"]


def counted_from_one(rank, ranks, micro_batches):
    return [f"{kind}{one}" for kind in "FB" for one in range(1, micro_batches + 1)]


def only_forward(rank, ranks, micro_batches):
    return [f"F{one}" for one in range(micro_batches)]


def one_text(rank, ranks, micro_batches):
    return " ".join(f"{kind}{one}" for kind in "FB" for one in range(micro_batches))


def disagreeing(rank, ranks, micro_batches):
    """Odd ranks go backward in the opposite order: nobody hangs, and all wait."""
    forward = [f"F{one}" for one in range(micro_batches)]
    turned = range(micro_batches)[:: -1 if rank % 2 else 1]
    return forward + [f"B{one}" for one in turned]


def _ahead(rank, ranks, micro_batches, ahead, rest=True):
    words = [f"F{one}" for one in range(ahead)]
    for one in range(micro_batches if rest else micro_batches - ahead):
        if one + ahead < micro_batches:
            words.append(f"F{one + ahead}")
        words.append(f"B{one}")
    return words


def all_equally_far(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, min(ranks - 1, micro_batches))


def one_too_far(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, min(ranks - rank, micro_batches))


def other_way_round(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, min(rank, micro_batches))


def beyond_the_last(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, ranks - 1 - rank)


def never_drained(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, min(ranks - 1 - rank, micro_batches), rest=False)


def backward_first(rank, ranks, micro_batches):
    return [f"{kind}{one}" for one in range(micro_batches) for kind in "BF"]


def worker(may_enter=lambda on_their_way, limit: on_their_way < limit, take=deque.popleft,
           copies=True, blocking=False, result=True):  # fmt: skip
    """The solution, with one thing done in another way."""

    def message_driven(comm, weight, inputs, in_flight):
        rank, last, arriving = comm.rank, comm.size - 1, np.empty_like(inputs[0])
        kept, sends, entered, returned, gradient = deque(), [], 0, 0, 0.0
        begin = comm.send if blocking else lambda x, to: sends.append(comm.isend(x, to))
        while returned < len(inputs):
            allowed = entered < len(inputs) and may_enter(entered - returned, in_flight)
            if rank == 0 and allowed:
                x, forward = inputs[entered], True
            else:
                forward = comm.recv(arriving, ANY) < rank
                x = arriving.copy() if copies else arriving
            if forward:
                kept.append(x)
                entered += 1
                x = weight * x
                if rank < last:
                    begin(x, rank + 1)
            if rank == last or not forward:
                gradient += x @ take(kept)
                returned += 1
                if rank > 0:
                    begin(weight * x, rank - 1)
        for send in sends:
            send.wait()
        return gradient if result else None

    return message_driven


def no_gradient_sent(comm, weight, inputs, in_flight):
    rank, last, gradient = comm.rank, comm.size - 1, 0.0
    for own in inputs:
        x = own.copy()
        if rank > 0:
            comm.recv(x, rank - 1)
        if rank < last:
            comm.send(weight * x, rank + 1)
        gradient += float(weight * x @ x)
    return gradient


def in_turns(rank, ranks, micro_batches):
    return _ahead(rank, ranks, micro_batches, min(ranks - 1 - rank, micro_batches))


def rows(change=lambda rank, words: words, order=one_at_a_time):
    """A schedule of its own: what each rank does by an order, with one thing done otherwise."""
    return lambda *sizes: [change(rank, order(rank, *sizes)) for rank in range(sizes[0])]


def put(text, *, rank=2, word="B1"):
    """Another text in place of one word of one rank."""
    return rows(
        lambda own, words: " ".join(words).replace(word, text if own == rank else word).split()
    )


def waiting_for_each_other(ranks, micro_batches):
    orders = [one_at_a_time, lambda rank, _, many: _ahead(rank, ranks, many, many)]
    return [orders[rank % 2](rank, ranks, micro_batches) for rank in range(ranks)]


def thinner_than_layers(ranks, micro_batches):
    thin = range(4 * ranks)
    passes = [(part, kind) for part in range(micro_batches) for kind in "FB"]
    return [
        [f"{s}{kind}{part}" for part, kind in passes for s in thin[rank::ranks]]
        for rank in range(ranks)
    ]


MISTAKES = [
    ("10.stage", stage(own=lambda x, y: y), "That is gradient @ y"),
    ("10.stage", stage(factor=False), "The gradient went on as it came. y = weight * x"),
    ("10.stage", stage(own=lambda x, y: y, factor=False), "And the gradient of the weight is"),
    ("10.stage", stage(receives_first=True), "Forward a rank receives before it computes"),
    ("10.stage", lambda comm, weight, x: None, "returns None"),
    ("10.idle", percent, "That is in per cent"),
    ("10.idle", divided_by_work, "divide by the whole time"),
    ("10.idle", one_rank_too_many, "P - 1, not P"),
    ("10.idle", busy_share, "the share in which a rank is busy"),
    ("10.idle", printed, "return one number, the share of the time"),
    ("10.gpipe", one_at_a_time, "B0 comes before the last forward pass"),
    ("10.gpipe", counted_from_one, "says 'F3': with 3 micro-batches there are F0 to F2"),
    ("10.gpipe", only_forward, "never does B0"),
    ("10.gpipe", one_text, "return a list of words"),
    ("10.gpipe", disagreeing, "Some rank waits although it has work to do"),
    ("10.one_f_one_b", one_at_a_time, "yours takes"),
    ("10.one_f_one_b", all_equally_far, "rank r runs only ranks - 1 - r micro-batches ahead"),
    ("10.one_f_one_b", one_too_far, "rank 0 of 1 with 3 micro-batches keeps the activations of 2"),
    ("10.one_f_one_b", other_way_round, "your orders cannot be carried out"),
    ("10.one_f_one_b", beyond_the_last, "there are F0 to F1 and B0 to B1"),
    ("10.one_f_one_b", never_drained, "never does B"),
    ("10.one_f_one_b", backward_first, "does not have the activations of stage 0"),
    ("10.message_driven", worker(lambda *_: True), "more than 1 were on their way at once"),
    ("10.message_driven", worker(lambda on, limit: on <= limit), "entered - returned < in_flight"),
    ("10.message_driven", worker(lambda on, limit: on < 1), "rank 0 starts fewer than the"),
    ("10.message_driven", worker(take=deque.pop), "the oldest input is the one to take"),
    ("10.message_driven", worker(copies=False), "unless you keep a copy"),
    ("10.message_driven", worker(blocking=True), "Begin to send with comm.isend"),
    ("10.message_driven", worker(result=False), "returns None"),
    ("10.message_driven", no_gradient_sent, "one gradient to the rank before"),
    ("10.zero_bubble", one_at_a_time, "there are F0 to F2 and I0 to I2 and W0 to W2"),
    ("10.zero_bubble", halves(lambda *_: 0), "Each W comes right after its I"),
    ("10.zero_bubble", halves(lambda rank, _: min(rank, 1)), "Leave more W undone"),
    ("10.zero_bubble", halves(lambda rank, ranks: 99), "at once, and there is room for"),
    ("10.zero_bubble", halves(lambda rank, ranks: rank + 1), "at once, and there is room for"),
    ("10.zero_bubble", halves(lambda rank, ranks: ranks - 1 - rank), "room for"),
    ("10.schedule", rows(order=in_turns), "rank 0 keeps 4 micro-batches at once"),
    ("10.schedule", rows(), "a step takes 96 seconds, of which a rank works 24. The goal is 30"),
    ("10.schedule", put("", word="F7"), "micro-batch 7 never goes forward through stage 2"),
    ("10.schedule", rows(lambda _, words: words[:-2]), "micro-batch 7 never goes forward"),
    ("10.schedule", put(""), "rank 2 has neither 2B1 nor 2I1 with 2W1"),
    ("10.schedule", put("I1"), "rank 2 has 2I1, the gradient of the input, and no 2W1"),
    ("10.schedule", put("W1"), "and no 2I1, from which it is computed"),
    ("10.schedule", put("B1 I1 W1"), "both whole, 2B1, and in halves, 2I1"),
    ("10.schedule", put("B1 B1"), "rank 2 does 2B1 twice"),
    ("10.schedule", put("W1 I1"), "on rank 2 2W1 stands before 2I1"),
    ("10.schedule", rows(order=backward_first), "stands before its forward pass 0F0"),
    ("10.schedule", rows(order=counted_from_one), "with 8 of them they are 0 to 7"),
    ("10.schedule", put("1B1"), "1B1 is of stage 1, which is on another rank"),
    ("10.schedule", put("X1"), "'X1' is no pass of a micro-batch"),
    ("10.schedule", put("3F9", word="F0"), "is of stage 3, which is on another rank"),
    ("10.schedule", thinner_than_layers, "has 16 stages. The network has 8 equal layers"),
    ("10.schedule", waiting_for_each_other, "the ranks come to wait for each other"),
    ("10.schedule", lambda *sizes: in_turns(0, *sizes), "return 4 lists, one a rank"),
]
