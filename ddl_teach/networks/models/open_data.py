"""Open data sets from the network, in the form of `data.digits`: MNIST and CIFAR-10.

A file is downloaded once, into a folder that all ranks of a machine share. It gets its name when
it is whole and has the published sum, so that ranks that begin together never see half of it.
LeCun et al. 1998; Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
"""

import gzip
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import torch

from ddl_teach.networks.models.loss import Batch

MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
CIFAR_10 = "https://www.cs.toronto.edu/~kriz/"
SUMS = {  # MD5, as the publishers give them
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
}
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ddl_teach"
PICTURE = (3, 32, 32)
Sums = Mapping[str, str]


def mnist(
    held_out: bool = False, folder: Path = FOLDER, source: str = MNIST, sums: Sums = SUMS
) -> Batch:
    """60,000 pictures (1, 28, 28) of digits, 0 to 1, or the 10,000 held out; and labels."""
    part = "t10k" if held_out else "train"
    images, labels = (
        np.frombuffer(gzip.decompress(path.read_bytes()), "u1")
        for path in (
            _file(f"{part}-{name}-ubyte.gz", folder, source, sums)
            for name in ("images-idx3", "labels-idx1")
        )
    )
    pictures = torch.tensor(images[16:].reshape(-1, 1, 28, 28)).float() / 255
    return pictures, torch.tensor(labels[8:]).long()


def cifar_10(
    held_out: bool = False, folder: Path = FOLDER, source: str = CIFAR_10, sums: Sums = SUMS
) -> Batch:
    """50,000 pictures (3, 32, 32), 0 to 1, or the 10,000 held out; and labels."""
    wanted = "test_batch" if held_out else "data_batch"
    with tarfile.open(_file("cifar-10-binary.tar.gz", folder, source, sums)) as archive:
        parts = [
            archive.extractfile(member)
            for member in sorted(archive.getmembers(), key=lambda member: member.name)
            if Path(member.name).name.startswith(wanted)
        ]
        rows = np.frombuffer(b"".join(part.read() for part in parts if part), "u1")
    rows = rows.reshape(-1, 1 + int(np.prod(PICTURE)))  # a label, then red, green and blue
    pictures = torch.tensor(rows[:, 1:].reshape(-1, *PICTURE)).float() / 255
    return pictures, torch.tensor(rows[:, 0]).long()


def _file(name: str, folder: Path, source: str, sums: Sums) -> Path:
    """Where a file stands in `folder`: it is loaded from the network if it is not there yet."""
    path = folder / name
    if path.exists():
        return path
    try:
        with urlopen(source + name, timeout=30) as answer:
            contents: bytes = answer.read()
    except OSError as error:
        raise OSError(
            f"{source}{name} cannot be loaded: {error}. Without a network, load it elsewhere and"
            f" put it into {folder}, or take `data.digits()`, which needs none"
        ) from error
    if (summed := hashlib.md5(contents, usedforsecurity=False).hexdigest()) != sums[name]:
        raise OSError(f"{source}{name} is not the published file: its sum is {summed}; try again")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as part:
        part.write(contents)
    return Path(part.name).replace(path)
