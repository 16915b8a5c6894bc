"""Deep gradient compression: top-k of what momentum would have done, begun gently.

Plain feedback delays small entries, and a momentum applied after that is wrong. So each rank lets
its own gradients gather speed, and sends of that:

    u = m u + g;   v = v + u;   send the top k of v;   there v = 0 and u = 0

The last zero (`masking`) stops stale speed. Gradients may be cut off at length `clip` first (a
rank's own: the paper takes the usual limit over sqrt(P)); for the first `warm_up` steps 1/4, 1/16,
1/64, 1/256 of the entries travel. The rule that applies the update must be plain: a second
momentum would count it twice. Cost: two more vectors in memory; bytes are those of top-k. Lin,
Han, Mao, Wang & Dally, "Deep gradient compression: reducing the communication bandwidth for
distributed training", ICLR 2018. What to look at: with momentum 0 it is top-k with feedback.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_teach.training.compression.compressor import CompressorState, checked
from ddl_teach.training.compression.top_k import TopK, message_of

STAGES = 4  # of the warm-up, each with a quarter of the entries of the one before


@dataclass(frozen=True)
class DeepGradientCompression(TopK):
    """Top-k with momentum correction, masking, clipping and warm-up."""

    density: float = 0.001
    momentum: float = 0.9
    clip: float | None = None
    warm_up: int = 0
    masking: bool = True
    remembers = True

    def __post_init__(self) -> None:
        super().__post_init__()
        clips = self.clip is None or self.clip > 0
        if not (0 <= self.momentum < 1 and clips and self.warm_up >= 0):
            ranges = "momentum is from 0 to below 1, clip above 0 or None, warm_up 0 or more"
            raise ValueError(f"{ranges}, not as in {self}")

    def stream(self, seed: int = 0) -> CompressorState:
        return CorrectedLink(self, seed)

    def objection(self, sends: str, update: Any) -> str | None:
        if sends != "gradients":
            applied = f"momentum has been applied when {sends} travel"
            return f"{applied}, not to be again: take Feedback(TopK()), or Synchronous()"
        if update is not None and update.states:
            already = f"it applies momentum {self.momentum} already, and {update}"
            advice = "take SGD(rate) as the update, or Feedback(TopK())"
            return f"{already} would count it twice: {advice}"
        return None

    def top(self, step: int) -> TopK:
        """The compressor of the messages in this step, counted from 0."""
        if step >= self.warm_up:
            return TopK(self.density)
        return TopK(max(self.density, 0.25 ** (1 + STAGES * step // self.warm_up)))

    def nbytes(self, size: int, itemsize: int = 4) -> int | None:
        return None if self.warm_up else super().nbytes(size)


class CorrectedLink(CompressorState):
    """Keeps speed and what is owed: zeros before the first vector."""

    compressor: DeepGradientCompression
    step = 0
    speed: np.ndarray | None = None
    owed: np.ndarray | None = None

    def encode(self, vector: np.ndarray) -> np.ndarray:
        return message_of(*self.select(vector), len(vector))

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.owed is None or self.speed is None:
            self.speed, self.owed = np.zeros_like(vector), np.zeros_like(vector)
        gradient = checked(vector)
        length = float(np.linalg.norm(gradient))
        if self.compressor.clip is not None and length > self.compressor.clip:
            gradient = gradient * (self.compressor.clip / length)
        self.speed *= self.compressor.momentum
        self.speed += gradient
        self.owed += self.speed
        indices, values = self.compressor.top(self.step).select(self.owed)
        self.owed[indices] -= values  # what rounding to float32 has left over stays
        if self.compressor.masking:
            self.speed[indices] = 0
        self.step += 1
        return indices, values
