"""The small teaching library in the reference: each file as it stands, and links to its product.

A product is the file for use of the same algorithm, or what it offers first to whoever uses it.
"""

from __future__ import annotations

from book.code_index import ROOT

PRODUCTS = {
    "ring_allreduce": "collectives.ring",
    "recursive_doubling": "collectives.recursive_doubling",
    "rabenseifner": "collectives.rabenseifner",
    "tree_broadcast": "collectives.tree",
    "two_level_allreduce": "collectives.hierarchical",
    "double_binary_tree": "collectives.double_binary_tree",
    "pat": "collectives.pat",
    "sparse_allreduce": "collectives.sparse.recursive_doubling",
    "direct_convolution": "operators.convolution.direct",
    "im2col": "operators.convolution.im2col",
    "fft_convolution": "operators.convolution.fft",
    "winograd": "operators.convolution.winograd",
    "micro_batches": "operators.divided_batches.dynamic",
    "wavefront": "operators.recurrence.wavefront",
    "data_parallel": "networks.data_parallel.train_replicas",
    "buckets": "networks.data_parallel.overlapped",
    "tensor_parallel": "networks.tensor.linear",
    "product_3d": "networks.tensor.product_3d",
    "halo": "networks.spatial.halo",
    "gpipe": "networks.pipelines.gpipe",
    "one_f_one_b": "networks.pipelines.one_f_one_b",
    "message_driven": "networks.pipelines.message_driven",
    "sharded_optimizer": "networks.memory.sharded_states",
    "ring_attention": "networks.context.ring_attention",
    "flash_attention": "operators.attention.tiled",
    "ulysses": "networks.context.ulysses",
    "experts": "networks.experts.spread",
    "balanced_experts": "networks.experts.routing",
    "synchronous_sgd": "training.consistency.synchronous",
    "parameter_server": "training.distribution.server",
    "asynchronous_server": "training.consistency.asynchronous",
    "stale_synchronous": "training.consistency.stale_synchronous",
    "backup_workers": "training.consistency.backup_workers",
    "hogwild": "training.consistency.hogwild",
    "local_sgd": "training.consistency.local",
    "diloco": "training.consistency.diloco",
    "elastic_averaging": "training.consistency.elastic",
    "gossip": "training.consistency.gossip",
    "robust_aggregation": "training.distribution.robust_rules",
    "top_k_error_feedback": "training.compression.feedback",
    "one_bit": "training.compression.one_bit",
    "qsgd": "training.compression.qsgd",
    "quantised_allreduce": "training.compression.blocks",
    "successive_halving": "search.deciders.successive_halving",
    "population_based": "search.population",
    "distillation": "search.consolidation.distillation",
    "fp8_scaling": "operators.precision.eight_bits",
    "speculative_decoding": "serving.speculative",
    "checkpoint_agreement": "fault_tolerance.checkpoints",
    "silent_corruption": "fault_tolerance.corruption",
}
"""Each file of `plain` and the module that is for use, both without the names before them."""


def links(module: str) -> str:
    """A sentence that leads from a plain file to its product, or from a product to plain files."""
    name = module.removeprefix("ddl_teach.")
    if name.removeprefix("plain.") in PRODUCTS and is_plain(module):
        return f"For use: `{PRODUCTS[name.removeprefix('plain.')]}`."
    files = [f"`plain.{plain}`" for plain, product in PRODUCTS.items() if product == name]
    return f"On one screen: {', '.join(files)}." if files else ""


def source(module: str) -> str:
    """A plain file as it stands, but for its docstring, which stands above it already."""
    text = (ROOT / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
    _, _, below = text.split('"""', 2)
    return f"```python\n{below.strip()}\n```"


def is_plain(module: str) -> bool:
    """Whether it is a file of the small library."""
    return module.startswith("ddl_teach.plain.")
