"""How well a step uses its cards: the operations of a model, over those that were possible.

    MFU = 6 N D / (T C F),    N weights, D tokens, T seconds, C cards, F operations a second

Chowdhery et al., "PaLM: scaling language modeling with pathways", JMLR 2023, appendix B.
"""

from ddl_teach.theory.inputs import Seconds


def utilisation(
    weights: float, tokens: float, seconds: Seconds, cards: int, peak: float, sparse: bool,
    recomputed: bool,
) -> tuple[Seconds, Seconds]:  # fmt: skip
    """Of the model and of the hardware, which computes the forward pass again; of dense peak."""
    share = 6 * weights * tokens / (seconds * cards * (peak / 2 if sparse else peak))
    return share, share * 8 / 6 if recomputed else share
