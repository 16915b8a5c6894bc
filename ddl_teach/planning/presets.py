"""Published models and accelerators, by the numbers of their papers and data sheets.

Data sheets print peaks with sparsity, which doubles them, and rates both ways together; here is
half of that, the dense peak in 16 bits and the rate in one direction:

    A100, 80 GB, SXM   NVIDIA: 624 TFLOP/s with sparsity, NVLink 600 GB/s
    H100, H200, SXM    NVIDIA: 1,979 TFLOP/s with sparsity, NVLink 900 GB/s; of an H800 400 GB/s
    DGX B200           NVIDIA: for all eight, in 8 bits, 72 PFLOP/s with sparsity, NVLink 14.4 TB/s
    MI300X             AMD: 2,614.9 TFLOP/s with sparsity, seven links of 128 GB/s to seven others

A server has eight, each with a card of 400 Gbit/s, of 200 beside an A100. Models: Brown et al.
2020 (GPT-3), Le Scao et al. 2022 (BLOOM), Dubey et al. 2024 (Llama 3), DeepSeek-AI 2024; the
others are `gpt_of`.
`simulate(..., machine=ACCELERATORS["H200"].device().machine)` gives simulated ranks its speed.
What to look at: a B200 has 2.3 times the peak of an H100, behind the same network card.
"""

from ddl_teach.planning.sizes import Accelerator, TransformerSizes

ACCELERATORS = {
    "A100": Accelerator("A100", 312e12, 2.039e12, 80e9, 400, 300e9, 200e9),
    "H100": Accelerator("H100", 989.4e12, 3.35e12, 80e9, 700),
    "H800": Accelerator("H800", 989.4e12, 3.35e12, 80e9, 700, 200e9),
    "H200": Accelerator("H200", 989.4e12, 4.8e12, 141e9, 700),
    "B200": Accelerator("B200", 2250e12, 8e12, 180e9, 1000, 900e9),
    "MI300X": Accelerator("MI300X", 1307.4e12, 5.3e12, 192e9, 750, 448e9),
}


def gpt(layers: int, hidden: int, heads: int, vocabulary: int) -> TransformerSizes:
    """Feed-forward layers four times as wide, and the embedding as head."""
    return TransformerSizes(layers, hidden, heads, 4 * hidden, vocabulary, heads)


def llama(layers: int, hidden: int, heads: int, inner: int) -> TransformerSizes:
    """Gated, with eight heads of keys, and a head of its own."""
    return TransformerSizes(layers, hidden, heads, inner, 128_256, 8, gated=True, tied=False)


MODELS = {
    "gpt-100k": gpt(2, 64, 4, 100),
    "gpt-1m": gpt(5, 128, 4, 100),
    "gpt-10m": gpt(8, 320, 5, 100),
    "gpt-124m": gpt(12, 768, 12, 50_257),
    "gpt3-175b": gpt(96, 12_288, 96, 51_200),
    "bloom-176b": gpt(70, 14_336, 112, 250_880),
    "llama3-8b": llama(32, 4096, 32, 14_336),
    "llama3-70b": llama(80, 8192, 64, 28_672),
    "llama3-405b": llama(126, 16_384, 128, 53_248),
    # Its attention has 128 heads of 192 numbers for queries and 128 for values, made of few.
    "deepseek-v3": TransformerSizes(
        61, 7168, 128, 18_432, 129_280, 128, gated=True, tied=False, experts=256, chosen=8,
        shared=1, of_expert=2048, expert_layers=58, nodes_of_a_word=4, attended=128 * 160,
        of_attention=7168 * (1536 + 576) + 1536 * 128 * 192 + 512 * 128 * 256 + 7168 * 128 * 128,
    ),
}  # fmt: skip
