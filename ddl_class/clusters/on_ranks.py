"""What MPI ranks on all nodes find out together, as a line of JSON. Each rank runs

    python -m ddl_class.clusters.on_ranks

They say where they are, compare their clocks by the fastest of many ping-pongs (`measure.clocks`),
and pass a few MiB to the next node while each node counts what its network interfaces send. The
interface whose count grew by those bytes is the one that MPI takes.
"""

import json
import socket
import time

import numpy as np
import psutil

from ddl_measure.clocks import compare_clocks
from ddl_runtime.launcher.join import join
from ddl_teach.comm import Comm

MESSAGES, NBYTES = 4, 2**20
LISTEN = psutil.CONN_LISTEN


def crossing(comm: Comm) -> dict:
    """One rank's part; all call it together."""
    reading = compare_clocks(comm)
    # How far the time of day here is ahead of rank 0's, at one moment.
    day = np.array([time.time() - comm.now() + reading.ahead])
    first = day.copy()
    for rank in range(1, comm.size):
        if comm.rank == 0:
            comm.send(first, rank)
        elif comm.rank == rank:
            comm.recv(first, 0)
    before = psutil.net_io_counters(pernic=True)
    onward, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = np.zeros(NBYTES, np.uint8), np.empty(NBYTES, np.uint8)
    for _ in range(MESSAGES):
        comm.sendrecv(x, onward, y, back)
    comm.barrier()
    after = psutil.net_io_counters(pernic=True)
    return {
        "node": socket.gethostname(),
        "ahead": float(day[0] - first[0]),
        "bound": reading.bound,
        "listens": sorted(
            {line.laddr.ip for line in psutil.Process().net_connections() if line.status == LISTEN}
        ),
        "interfaces": [
            name
            for name, state in psutil.net_if_stats().items()
            if state.isup and "loopback" not in state.flags and name in psutil.net_if_addrs()
        ],
        "sent": {
            name: count.bytes_sent - before[name].bytes_sent
            for name, count in after.items()
            if name in before
        },
    }


if __name__ == "__main__":
    run = join(crossing)
    for result in run.results if run else ():
        print(json.dumps(result), flush=True)
