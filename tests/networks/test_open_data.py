"""Open data from a server of one's own, in the published formats."""

import gzip
import hashlib
import io
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch

from ddl_teach.networks.models import open_data

PICTURES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype="u1")
COLOURED = np.random.default_rng(1).integers(0, 256, (6, 3, 32, 32), dtype="u1")
LABELS = np.array([3, 1, 4, 1, 5, 9], "u1")


def idx(values):
    sizes = np.array(values.shape, ">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, values.ndim]) + sizes + values.tobytes())


def archive():
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as made:
        for name, at in (("data_batch_2", 3), ("data_batch_1", 0), ("test_batch", 4)):
            rows = b"".join(
                LABELS[k].tobytes() + COLOURED[k].tobytes() for k in range(at, min(at + 3, 6))
            )
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = len(rows)
            made.addfile(member, io.BytesIO(rows))
    return whole.getvalue()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a server that has small data sets, and their sums."""
    folder = tmp_path_factory.mktemp("served")
    files = {
        "train-images-idx3-ubyte.gz": idx(PICTURES),
        "train-labels-idx1-ubyte.gz": idx(LABELS[:5]),
        "t10k-images-idx3-ubyte.gz": idx(PICTURES[:2]),
        "t10k-labels-idx1-ubyte.gz": idx(LABELS[:2]),
        "cifar-10-binary.tar.gz": archive(),
    }
    for name, contents in files.items():
        (folder / name).write_bytes(contents)
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sums = {name: hashlib.md5(contents).hexdigest() for name, contents in files.items()}
    yield f"http://127.0.0.1:{server.server_port}/", sums
    server.shutdown()


@pytest.mark.parametrize(("held_out", "count"), [(False, 5), (True, 2)])
def test_mnist_is_read_as_it_was_written(served, tmp_path, held_out, count):
    images, labels = open_data.mnist(held_out, tmp_path, *served)
    assert torch.equal((images * 255).round().byte()[:, 0], torch.tensor(PICTURES[:count]))
    assert labels.tolist() == LABELS[:count].tolist()


@pytest.mark.parametrize(("held_out", "places"), [(False, [0, 1, 2, 3, 4, 5]), (True, [4, 5])])
def test_cifar_is_read_in_the_order_of_its_parts(served, tmp_path, held_out, places):
    images, labels = open_data.cifar_10(held_out, tmp_path, *served)
    assert torch.equal((images * 255).round().byte(), torch.tensor(COLOURED[places]))
    assert labels.tolist() == LABELS[places].tolist()


def test_a_file_is_loaded_once_and_ranks_may_begin_together(served, tmp_path):
    with ThreadPoolExecutor(4) as four:
        every = list(four.map(lambda _: open_data.mnist(False, tmp_path, *served), range(4)))
    assert all(torch.equal(every[0][0], images) for images, _ in every)
    assert len(list(tmp_path.iterdir())) == 2
    again, _ = open_data.mnist(False, tmp_path, "http://127.0.0.1:9/", served[1])
    assert torch.equal(again, every[0][0])


def test_a_damaged_file_is_refused_and_not_kept(served, tmp_path):
    address, _ = served
    with pytest.raises(OSError, match="is not the published file"):
        open_data.cifar_10(False, tmp_path, address, open_data.SUMS)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_it_is_told_what_needs_none(tmp_path):
    with pytest.raises(OSError, match=r"take `data.digits\(\)`, which needs none"):
        open_data.mnist(False, tmp_path, "http://127.0.0.1:9/")
