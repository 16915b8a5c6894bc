"""The usual mistakes of unit 09, and words of the message that must name each."""

import numpy as np

from ddl_teach.collectives import ring


def all_reduce(comm, x):
    total = np.array(x, order="C")
    ring.allreduce(comm, total)
    return total


def all_gather(comm, x):
    every = np.zeros((comm.size, *x.shape))
    every[comm.rank] = x
    ring.allgather(comm, every)
    return every.reshape(-1, *x.shape[1:])


def reduce_scatter(comm, x):
    part = ring.reduce_scatter(comm, np.array(x, order="C"))
    return part.reshape(-1, *x.shape[1:]).copy()


def rows(comm, x, b, *, summed=True, shifted=True):
    """Right, but for what its arguments say."""
    begin = comm.rank * len(b) if shifted else 0
    part = x[:, begin : begin + len(b)] @ b
    return all_reduce(comm, part) if summed else part


def relu(x):
    return np.maximum(x, 0)


def part_only(comm, x, a, b, bias):
    return relu(x @ a) @ b + bias


def bias_before(comm, x, a, b, bias):
    return all_reduce(comm, relu(x @ a) @ b + bias)


def no_bias(comm, x, a, b, bias):
    return all_reduce(comm, relu(x @ a) @ b)


def no_relu(comm, x, a, b, bias):
    return all_reduce(comm, x @ a @ b) + bias


def relu_late(comm, x, a, b, bias):
    return relu(all_reduce(comm, x @ a @ b)) + bias


def relu_last(comm, x, a, b, bias):
    return relu(all_reduce(comm, relu(x @ a) @ b) + bias)


def middle(comm, x, a, b, bias):
    return relu(all_reduce(comm, x @ a)) @ b + bias


def middle_after(comm, x, a, b, bias):
    return all_reduce(comm, relu(x @ a)) @ b + bias


def twice(comm, x, a, b, bias):
    return all_reduce(comm, all_reduce(comm, relu(x @ a) @ b)) / comm.size + bias


def no_return(comm, x, a, b, bias):
    all_reduce(comm, relu(x @ a) @ b)


def turned(comm, x, a, b, bias):
    return (all_reduce(comm, relu(x @ a) @ b) + bias).T


def gradients(comm, x, a, b, of_y):
    h = x @ a
    of_h = of_y @ b.T * (h > 0)
    return of_h @ a.T, x.T @ of_h, relu(h).T @ of_y


def all_own(comm, x, a, b, of_y):
    return gradients(comm, x, a, b, of_y)


def all_summed(comm, x, a, b, of_y):
    return tuple(all_reduce(comm, one) for one in gradients(comm, x, a, b, of_y))


def of_y_summed(comm, x, a, b, of_y):
    of_x, of_a, of_b = gradients(comm, x, a, b, all_reduce(comm, of_y))
    return all_reduce(comm, of_x), of_a, of_b


def unmasked(comm, x, a, b, of_y):
    of_h = of_y @ b.T
    return all_reduce(comm, of_h @ a.T), x.T @ of_h, relu(x @ a).T @ of_y


def no_relu_in_b(comm, x, a, b, of_y):
    of_x, of_a, _ = gradients(comm, x, a, b, of_y)
    return all_reduce(comm, of_x), of_a, (x @ a).T @ of_y


def mean(comm, x, a, b, of_y):
    of_x, of_a, of_b = gradients(comm, x, a, b, of_y)
    return all_reduce(comm, of_x) / comm.size, of_a, of_b


def two_of_three(comm, x, a, b, of_y):
    return gradients(comm, x, a, b, of_y)[:2]


def hybrid(comm, images, c, w, of_scores, over_c=all_reduce, over_w=lambda _, x: x,
           scatter=reduce_scatter, mask=True):  # fmt: skip
    features = relu(images @ c)
    every = all_gather(comm, features)
    of_features = scatter(comm, of_scores @ w.T)
    of_c = images.T @ (of_features * (features > 0) if mask else of_features)
    return every @ w, over_c(comm, of_c), over_w(comm, every.T @ of_scores)


def own_c(*given):
    return hybrid(*given, over_c=lambda _, x: x)


def mean_c(*given):
    return hybrid(*given, over_c=lambda comm, x: all_reduce(comm, x) / comm.size)


def summed_w(*given):
    return hybrid(*given, over_w=all_reduce)


def own_rows_alone(*given):
    return hybrid(*given, scatter=lambda comm, x: np.split(x, comm.size)[comm.rank])


def no_mask(*given):
    return hybrid(*given, mask=False)


def own_images(comm, images, c, w, of_scores):
    features = relu(images @ c)
    mine = np.split(of_scores, comm.size)[comm.rank]
    of_c = images.T @ (mine @ w.T * (features > 0))
    return features @ w, all_reduce(comm, of_c), features.T @ mine


def attend(q, k, v):
    weights = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def block(first=True, second=True, inside=False, residual=True, of_x=False, twice=False):
    """The solution, with one thing done in another way."""

    def answer(comm, x, heads, out, a, b):
        part = np.hstack([attend(x @ q, x @ k, x @ v) for q, k, v in heads]) @ out
        part = x + part if inside else part
        y = all_reduce(comm, part) if first else part
        y = y if inside or not residual else x + y
        y = all_reduce(comm, y) / comm.size if twice else y
        mlp = relu((x if of_x else y) @ a) @ b
        return y + (all_reduce(comm, mlp) if second else mlp)

    return answer


def in_one_sum(comm, x, heads, out, a, b):
    """Adds up only once, at the end, with what went in."""
    y = x + np.hstack([attend(x @ q, x @ k, x @ v) for q, k, v in heads]) @ out
    return all_reduce(comm, y + relu(y @ a) @ b)


def no_residual_at_all(comm, x, heads, out, a, b):
    part = np.hstack([attend(x @ q, x @ k, x @ v) for q, k, v in heads]) @ out
    return all_reduce(comm, relu(all_reduce(comm, part) @ a) @ b)


MISTAKES = [
    ("09.rows", lambda *given: rows(*given, summed=False), "this rank's part"),
    ("09.rows", lambda *given: rows(*given, shifted=False), "begin at r * len(b)"),
    ("09.rows", lambda comm, x, b: None, "Is a `return` missing?"),
    ("09.pair", part_only, "this rank's part of the sum"),
    ("09.pair", bias_before, "once for every rank"),
    ("09.pair", no_bias, "The bias is missing"),
    ("09.pair", no_relu, "The ReLU is missing"),
    ("09.pair", relu_late, "between the two products"),
    ("09.pair", relu_last, "no ReLU after the second"),
    ("09.pair", middle, "summed in the middle"),
    ("09.pair", middle_after, "summed in the middle"),
    ("09.pair", twice, "Only y needs to be summed"),
    ("09.pair", no_return, "returns None"),
    ("09.pair", turned, "has the shape (5, 3)"),
    ("09.pair_gradients", all_own, "its gradient is the sum over all ranks"),
    ("09.pair_gradients", all_summed, "Do not sum the gradients of a and b"),
    ("09.pair_gradients", of_y_summed, "it needs no sum"),
    ("09.pair_gradients", unmasked, "only where its input was positive"),
    ("09.pair_gradients", no_relu_in_b, "relu(h).T @ of_y"),
    ("09.pair_gradients", mean, "the mean over the ranks"),
    ("09.pair_gradients", two_of_three, "return 3 arrays"),
    ("09.pair_gradients", lambda *given: all_own(*given)[0], "yours returns 1 in place of 3"),
    ("09.block", block(first=False), "The MLP got this rank's part of attention"),
    ("09.block", block(second=False), "The last sum is missing"),
    ("09.block", block(first=False, second=False), "That is this rank's part"),
    ("09.block", block(inside=True), "The residual path is in it once for every rank"),
    ("09.block", block(residual=False), "The residual path is missing"),
    ("09.block", in_one_sum, "The MLP got this rank's part of attention"),
    ("09.block", no_residual_at_all, "The residual path is missing"),
    ("09.block", block(of_x=True), "not on x"),
    ("09.block", block(twice=True), "A block needs two sums"),
    ("09.block", lambda *_: None, "returns None"),
    ("09.hybrid", own_c, "sum its gradient over the ranks"),
    ("09.hybrid", mean_c, "The gradient of c is no mean"),
    ("09.hybrid", summed_w, "Do not sum the gradient of w"),
    ("09.hybrid", own_rows_alone, "reduce_scatter sums the parts"),
    ("09.hybrid", no_mask, "only where features > 0"),
    ("09.hybrid", own_images, "all_gather(comm, features) first"),
]
