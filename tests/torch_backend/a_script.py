"""A script as torchrun takes it: it knows nothing of this project."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1)
    steps = parser.parse_args().steps
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    assert (rank, size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(3, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.full((1, 3), float(rank))).sum().backward()
        optimizer.step()
    total = torch.cat([p.detach().reshape(-1) for p in model.parameters()]).sum()
    if rank == 0:
        print(f"the weights of {size} ranks sum up to {total:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
