"""The child process of `awareness` that may crash: a message from GPU memory to GPU memory, to
oneself. It says "direct" if the bytes arrive.
"""

import sys

SIZES = (64, 1 << 20)  # bytes


def main() -> None:
    """Try it, with a short message and a long one, which travel differently."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("torch finds no GPU here")
    torch.cuda.init()  # before MPI starts, which looks for it

    from ddl_runtime.mpi.wire import MPI, memory

    for nbytes in SIZES:
        sent = torch.arange(nbytes, device="cuda").to(torch.uint8)
        came = torch.zeros_like(sent)
        torch.cuda.synchronize()  # MPI knows nothing of streams
        receiving = MPI.COMM_SELF.Irecv([memory(came, nbytes), MPI.BYTE], 0)
        sending = MPI.COMM_SELF.Isend([memory(sent, nbytes), MPI.BYTE], 0)
        MPI.Request.Waitall([receiving, sending])
        if not torch.equal(sent, came):
            sys.exit(f"{nbytes} bytes came, but not those that were sent")
    print("direct")


if __name__ == "__main__":
    main()
