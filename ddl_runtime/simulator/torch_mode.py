"""What torch keeps for each thread, where simulated ranks share one.

Two things would pass from a rank that waits to the rank that goes on: whether gradients are
recorded (`torch.no_grad`), which is laid aside and put back; and the backward pass under way, in
whose midst another rank's would begin. That one cannot be laid aside, so such a wait is refused.
"""

import sys

ADVICE = (
    "Give every rank a thread of its own: simulate(program, ranks, threads=True), or "
    "ddl-teach run --simulate ... --threads"
)


def backward_on_this_thread() -> None:
    """For tensors on a device torch has threads of its own that make backward passes; a rank that
    sends messages meanwhile makes its own, on the thread that calls this."""
    if "torch" in sys.modules:
        sys.modules["torch"].autograd.set_multithreading_enabled(False)


class TorchMode:
    """Whether gradients are recorded, for ranks that share a thread."""

    def __init__(self) -> None:
        torch = sys.modules.get("torch")
        self.usual = torch is None or torch.is_grad_enabled()  # where `simulate` was called

    def lay_aside(self) -> bool:
        """Before another rank goes on; returns whether this one's mode must be put back."""
        torch = sys.modules["torch"]
        if torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                "this rank would wait for a message inside torch's backward pass. torch keeps one "
                "backward pass for each thread, and these simulated ranks share a thread: "
                f"gradients would be wrong. {ADVICE}"
            )
        if torch.is_grad_enabled() == self.usual:
            return False
        if torch.is_inference_mode_enabled():
            raise RuntimeError(
                "this rank would wait for a message inside torch.inference_mode(), which holds "
                f"for the thread that these simulated ranks share. Use torch.no_grad(). {ADVICE}"
            )
        self.restore()
        return True

    def put_back(self) -> None:
        """Before the rank whose mode was laid aside goes on."""
        sys.modules["torch"].set_grad_enabled(not self.usual)

    def restore(self) -> None:
        """What others expect."""
        if "torch" in sys.modules:
            sys.modules["torch"].set_grad_enabled(self.usual)
