"""The embedding of code statements: its data, its gradient, and its training along every
distribution."""

import ast
import copy

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.nonzero import NonZero
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.server import Sharded
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.distribution.sparse_all_reduce import WAYS, SparseAllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.statements import downstream
from ddl_teach.training.tasks.statements.corpus import Corpus, read
from ddl_teach.training.tasks.statements.embedding import Statements
from ddl_teach.training.tasks.statements.spelling import headers, names, spell
from ddl_teach.training.trainer import train


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read(("json", "concurrent", "wsgiref"))


@pytest.fixture(scope="module")
def read_again(corpus) -> Corpus:
    return read.__wrapped__(corpus.packages)  # not the one that is kept


@pytest.fixture(scope="module")
def task(corpus) -> Statements:
    return Statements(corpus, width=6, batch=4, dtype="float64")


def spelt(text):
    return [spell(header) for header in headers(ast.parse(text).body)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("first = self.queue.pop(0)", "_ = _.queue.pop(int)"),
        ("x = [Item(k) for k in range(9)]", "_ = [Item(_) for _ in range(int)]"),
        ("if a is None: b()", "if _ is None:|b()"),
        ("try:\n a\nexcept KeyError as e:\n raise ValueError(f'{e}')",
         "try:|_|except KeyError as _:|raise ValueError(str)"),
        ("for k, v in d.items():\n 'a comment'\n s += v * 2.5",
         "for _, _ in _.items():|_ += _ * float"),
        ("def f(): pass\nimport os\nreturned = {'a': 1, **b}", "_ = {str: int, **_}"),
        ("return f(g(h(1)))", "return f(g(_))"),
        ("while True: x, (y, z) = w", "while True:|_, (_, _) = _"),
    ],
)  # fmt: skip
def test_statements_lose_their_variables_and_keep_what_they_do(text, right):
    assert spelt(text) == right.split("|")


def test_what_stands_in_a_call_in_a_call_does_not_matter():
    assert spelt("return f(g(h(1), k(2)(3)))") == ["return f(g(_, _))"]


def test_a_statement_reads_and_sets():
    (header,) = headers(ast.parse("a = b[c] + a").body)
    assert names(header) == ({"a", "b", "c"}, {"a"})


@pytest.mark.parametrize(
    "name", ["vocabulary", "counts", "pairs", "held_out_pairs", "statements", "begins", "package"]
)
def test_the_corpus_is_the_same_each_time(corpus, read_again, name):
    assert np.array_equal(getattr(read_again, name), getattr(corpus, name))


def test_the_corpus_is_plain(corpus):
    assert copy.deepcopy(corpus) is corpus
    assert (np.diff(corpus.counts) <= 0).all()
    assert corpus.counts[-1] >= 2
    assert corpus.begins[-1] == len(corpus.statements)
    assert len(corpus.begins) - 1 == len(corpus.package) == len(corpus.held_out)
    assert 0 < corpus.held_out.mean() < 0.6
    learnt = np.repeat(~corpus.held_out, np.diff(corpus.begins))
    # A statement is in the vocabulary because of the files to learn from, and of no others.
    assert np.array_equal(
        np.bincount(corpus.statements[learnt], minlength=len(corpus.vocabulary)), corpus.counts
    )


def test_every_pair_stands_both_ways(corpus):
    forwards = sorted(map(tuple, corpus.pairs.tolist()))
    assert forwards == sorted((other, one) for one, other in forwards)


def test_the_gradient_is_the_slope_of_the_loss_and_touched_is_all_of_it(task):
    rng = np.random.default_rng(3)
    weights = rng.normal(0, 0.5, task.layers[-1])
    loss, gradient = task.gradient(weights, 1, 3, 5)
    same, indices, values = task.touched(weights, 1, 3, 5)
    assert same == loss
    assert (np.diff(indices) > 0).all()
    rest = np.ones(len(weights), bool)
    rest[indices] = False
    assert np.array_equal(gradient[indices], values)
    assert not gradient[rest].any()
    assert len(indices) <= task.batch * (task.negatives + 2) * task.width
    for _ in range(4):
        way = np.zeros(len(weights))
        way[indices] = rng.normal(size=len(indices))
        up, down = (task.gradient(weights + e * way, 1, 3, 5)[0] for e in (1e-5, -1e-5))
        assert (up - down) / 2e-5 == pytest.approx(gradient @ way, rel=1e-6, abs=1e-8)


def test_contexts_are_drawn_by_their_frequency_to_the_power_of_three_quarters():
    """Counts of 81, 16 and 1 to the power 3/4 are 27, 8 and 1.

    As long as contexts say nothing, each one that is drawn pulls its row by half the vector of the
    centre, here always 1: so the gradient counts them.
    """
    nothing, pair = np.empty(0, int), np.array([[0, 0]])
    corpus = Corpus(("one",), tuple("abc"), np.array([81, 16, 1]), pair, pair, nothing,
                    np.array([0]), nothing, np.empty(0, bool))  # fmt: skip
    task = Statements(corpus, width=1, batch=20_000, dtype="float64")
    _, gradient = task.gradient(np.array([1.0, 0, 0, 0, 0, 0]), 0, 1, 0)
    drawn = 2 * gradient[3:] + [1, 0, 0]  # the pair itself pulls the other way
    np.testing.assert_allclose(drawn / task.negatives, np.array([27, 8, 1]) / 36, atol=0.006)


def test_workers_together_see_what_one_would(task, corpus):
    weights = np.random.default_rng(4).normal(size=task.layers[-1])
    whole = Statements(corpus, task.width, 3 * task.batch, dtype="float64")
    parts = [task.gradient(weights, part, 3, 7) for part in range(3)]
    loss, gradient = whole.gradient(weights, 0, 1, 7)
    assert loss == pytest.approx(np.mean([loss for loss, _ in parts]))
    assert np.abs(gradient - np.mean([gradient for _, gradient in parts], axis=0)).max() < 1e-14


STEPS = 3


def along_every_path(comm, task):
    """How far each training ends from the dense one, and the bytes that it sent."""
    settings = {"comm": comm, "task": task, "update": SGD(2.0), "steps": STEPS}
    dense = train(
        consistency=Synchronous(), distribution=AllReduce("recursive_doubling"), **settings
    )
    found = {"dense": (0.0, dense.total_bytes)}
    for way in WAYS:
        sparse = train(
            consistency=Synchronous(),
            distribution=SparseAllReduce(way),
            compressor=NonZero(),
            **settings,
        )
        found[way] = np.abs(sparse.weights - dense.weights).max(), sparse.total_bytes
    gathered = train(consistency=Synchronous(), compressor=NonZero(), **settings)
    found["gathered"] = np.abs(gathered.weights - dense.weights).max(), gathered.total_bytes
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(2)
def test_sparse_and_dense_all_reduce_train_the_same_embedding(real, task, ranks):
    results = real(along_every_path, ranks, task=task, timeout=120).results
    assert results == simulate(along_every_path, ranks, task=task).results
    for found in results:
        assert max(apart for apart, _ in found.values()) < 1e-12
        if ranks in (2, 4):
            assert found["recursive_doubling"][1] < 0.5 * found["dense"][1]


class Unaware(Statements):
    """The same task, but it cannot say beforehand which rows it will look at."""

    needed = None


def lock_free_and_served(comm, task, unaware):
    settings = {"comm": comm, "update": SGD(2.0)}
    free = train(
        task=task, consistency=Hogwild(), distribution=SharedVector(), steps=100, **settings
    )
    settings |= {"distribution": Sharded(min(2, comm.size - 1)), "steps": STEPS}
    averaged, plain = (
        train(task=task, consistency=Synchronous(), compressor=compressor, **settings)
        for compressor in (NonZero(), Dense())
    )
    rows, whole = (
        train(task=each, consistency=StaleSynchronous(0), compressor=NonZero(), **settings)
        for each in (task, unaware)
    )
    asynchronous = train(task=task, consistency=Asynchronous(), compressor=NonZero(), **settings)
    if asynchronous.weights is not None:
        assert np.isfinite(asynchronous.weights).all()
    return free, averaged, plain, rows, whole


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_lock_free_and_through_a_sharded_server(real, task, ranks):
    begin, width, itemsize = task.loss(task.initial()), task.width, 8
    unaware = Unaware(task.corpus, task.width, task.batch, dtype=task.dtype)
    servers = min(2, ranks - 1)
    workers = ranks - servers
    given = {"task": task, "unaware": unaware, "timeout": 120}
    results = real(lock_free_and_served, ranks, **given).results
    for free, averaged, plain, rows, whole in results:
        assert task.loss(free.weights) < 0.95 * begin
        assert free.total_bytes == 0
        if plain.weights is not None:
            np.testing.assert_allclose(averaged.weights, plain.weights, atol=1e-12)
            np.testing.assert_allclose(rows.weights, plain.weights, atol=1e-12)
            assert np.array_equal(rows.weights, whole.weights)
            assert averaged.total_bytes < plain.total_bytes
    # What servers send: an answer of 16 bytes, the rows that each step needs, all at last.
    seen = [len(task.needed(w, workers, step).numbers) for w in range(workers)
            for step in range(STEPS)]  # fmt: skip
    answers = (STEPS + 1) * workers * servers * 16 + workers * itemsize * task.layers[-1]
    sent, dense = (sum(each[place].total_bytes for each in results[:servers]) for place in (3, 4))
    assert sent == answers + sum(seen) * width * itemsize
    assert dense == answers + STEPS * workers * itemsize * task.layers[-1]
    assert sent < dense / 2


@pytest.mark.parametrize(("part", "step"), [(0, 0), (2, 7)])
def test_the_rows_of_a_step_are_those_that_its_gradient_touches(task, part, step):
    rows = task.needed(part, 3, step)
    _, touched, _ = task.touched(task.initial(), part, 3, step)
    assert np.array_equal(rows.places(0, task.layers[-1]), touched)


@pytest.mark.parametrize(("begin", "end"), [(0, 100), (97, 605), (5, 7)])
@pytest.mark.parametrize(("part", "step"), [(0, 0), (2, 7)])
def test_rows_may_be_cut_anywhere_also_in_two(task, part, step, begin, end):
    packed = Rows.unpacked(task.needed(part, 3, step).packed(begin, end))
    _, touched, _ = task.touched(task.initial(), part, 3, step)
    here = touched[(touched >= begin) & (touched < end)] - begin
    assert np.array_equal(packed.places(begin, end), here)


@pytest.mark.parametrize(
    ("distribution", "compressor"),
    [
        (SparseAllReduce("split_allgather"), TopK(0.05)),
        (SparseAllReduce("dense_second_phase", QSGD(levels=7, bucket=64)), NonZero()),
    ],
    ids=["lossy", "quantised"],
)
def test_a_lossy_form_and_a_quantised_second_phase_train_as_well(task, distribution, compressor):
    begin = task.loss(task.initial())
    settings = {"consistency": Synchronous(), "update": SGD(8.0), "steps": 60}
    run = simulate(
        train, 4, task=task, distribution=distribution, compressor=compressor, **settings
    )
    first = run.results[0].weights
    assert task.loss(first) < 0.97 * begin
    assert all(np.array_equal(result.weights, first) for result in run.results)


def test_what_makes_no_sense_is_refused():
    assert "lists of entries" in refusal(Synchronous(), SparseAllReduce(), Dense(), SGD(0.1))
    assert refusal(Synchronous(), SparseAllReduce(), TopK(0.1), SGD(0.1)) is None
    with pytest.raises(ValueError, match="no way of SparseAllReduce is called"):
        SparseAllReduce("ring")
    with pytest.raises(ValueError, match="no second phase"):
        SparseAllReduce("split_allgather", QSGD())
    with pytest.raises(ValueError, match="no source files of the package 'nowhere'"):
        read(("nowhere",))
    with pytest.raises(ValueError, match="name more"):
        read(("json",), rare=10_000)
    with pytest.raises(ValueError, match="from 0 to 2"):
        read(("json",), fold=3)


def test_every_file_is_held_out_by_one_fold():
    thirds = [read(("json", "concurrent", "wsgiref"), fold=fold) for fold in range(3)]
    # Left out is who has no statement that recurs, and what recurs depends on the third.
    functions = max(third.held_out.size for third in thirds)
    held_out = sum(third.held_out.sum() for third in thirds)
    assert 0.5 * functions < held_out <= functions


def test_neighbours_and_the_package_of_a_function():
    """Two packages whose statements never mix, and vectors that say so."""
    known = np.arange(8)
    corpus = Corpus(
        ("one", "other"), tuple("abcdefgh"), np.full(8, 5), np.empty((0, 2), int),
        np.empty((0, 2), int),
        np.concatenate([known[:4], known[4:]] * 6 + [known[:3]]), np.array([*range(0, 49, 4), 51]),
        np.array([0, 1] * 6 + [1]), np.array([False] * 6 + [True] * 6 + [True]),
    )  # fmt: skip
    vectors = np.random.default_rng(0).normal(size=(8, 3)) * 0.1
    vectors[:4, 0] += 1
    vectors[4:, 0] -= 1
    assert downstream.accuracy(corpus, vectors) == 1  # the last function is too short to count
    assert downstream.accuracy(corpus, np.ones((8, 3))) == 0.5
    assert downstream.most_frequent(corpus) == 0.5
    near = downstream.nearest(corpus, vectors, "a", 3)
    assert {statement for statement, _ in near} == {"b", "c", "d"}
    assert near[0][1] > 0.5
    with pytest.raises(ValueError, match="not in the vocabulary"):
        downstream.nearest(corpus, vectors, "z")


@pytest.mark.parametrize(
    ("begin", "end", "numbers"), [(0, 9, [0, 2]), (0, 10, [0, 2, 3]), (4, 9, [2]), (9, 9, [])]
)
def test_rows_between_two_places_are_those_that_have_numbers_there(begin, end, numbers):
    rows = Rows(3, np.array([0, 2, 3, 5])).between(begin, end)
    assert rows.numbers.tolist() == numbers
    assert rows.packed(begin, end).tolist() == [3, *numbers]


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (6, 2), (30, 3)])
def test_the_classifier_is_torchs_softmax_regression_with_weight_decay(rows, classes):
    random = np.random.default_rng(rows)
    features, answers = random.normal(size=(rows, 4)), random.integers(classes, size=rows)
    weights = torch.zeros(4, classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=1.0, weight_decay=1e-3)
    for _ in range(200):
        optimizer.zero_grad()
        scores = torch.from_numpy(features) @ weights
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(answers)).backward()
        optimizer.step()
    ours = downstream._classifier(features, np.eye(classes)[answers])
    np.testing.assert_allclose(ours, weights.detach().numpy(), rtol=1e-9)
