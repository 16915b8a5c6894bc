"""All planted bugs. Each was made by somebody before, in a library, a paper's code or a lab."""

from ddl_class.exercises.mutants.bug import Bug

OPERATORS, TRAINING, DISTRIBUTED = "operators", "training", "distributed"

BUGS = (
    Bug(
        "training.optimizers.adam.Adam", TRAINING,
        "second *= beta2", "second *= beta1",
        "the second moment decays like the first one",
        "walk beside another library's Adam; the first step is right",
    ),
    Bug(
        "training.optimizers.adam.Adam", TRAINING,
        "(1 - beta2**step)", "(1 - beta2)",
        "the bias of the second moment is corrected in every step as in the first",
        "walk beside another library's Adam; the first step is right",
    ),
    Bug(
        "training.optimizers.adamw.AdamW", TRAINING,
        "weights *= 1 - at(self.rate, step) * self.decay",
        "gradient = gradient + self.decay * weights",
        "the decay is added to the gradient, where Adam divides it away",
        "large weights with small gradients must shrink",
    ),
    Bug(
        "training.optimizers.nesterov.Nesterov", TRAINING,
        "(gradient + self.momentum * moment)", "moment",
        "it does not look ahead: plain momentum under another name",
        "walk beside another library's",
    ),
    Bug(
        "training.optimizers.momentum.Momentum", TRAINING,
        "moment *= self.momentum\n        moment += gradient",
        "moment += gradient\n        moment *= self.momentum",
        "the new gradient is shortened as if it were an old one",
        "the first step alone",
    ),
    Bug(
        "training.optimizers.rmsprop.RMSProp", TRAINING,
        "squares += (1 - self.memory) * gradient * gradient", "squares += gradient * gradient",
        "a running sum in place of a running mean",
        "the first step is ten times too short",
    ),
    Bug(
        "training.optimizers.adagrad.AdaGrad", TRAINING,
        "squares += gradient * gradient", "squares[:] = gradient * gradient",
        "only the last square is kept: every step is as long as the rate",
        "the second step",
    ),
    Bug(
        "collectives.ring.allreduce", DISTRIBUTED,
        "for step in range(size - 1):", "for step in range(size - 2):",
        "the last chunk of the all-gather never comes",
        "every number, not only the first ones, and against the sum",
    ),
    Bug(
        "collectives.recursive_doubling.allreduce", DISTRIBUTED,
        "out=x, op=op)\n    unfold(comm, core, x)\n", "out=x, op=op)\n",
        "ranks that stand aside never get the result",
        "a number of ranks that is no power of two",
    ),
    Bug(
        "collectives.rabenseifner.allreduce", DISTRIBUTED,
        "comm.combine(kept, arriving, out=kept, op=op)", "comm.combine(kept, arriving, out=kept)",
        "whatever is asked for, it adds",
        "another operation than the sum",
    ),
    Bug(
        "networks.data_parallel.averaging.average_gradients", DISTRIBUTED,
        "parameter.grad = gradient.div_(comm.size)", "parameter.grad = gradient",
        "gradients are summed, not averaged: the rate grows with the ranks",
        "the gradient of one rank that has the whole batch",
    ),
    Bug(
        "networks.data_parallel.batch_normalisation.SynchronisedBatchNorm", DISTRIBUTED,
        "gather_in(self._comm, row[None], 0, ranks).split(", "row[None].split(",
        "each rank takes the mean and the variance of its own part",
        "one rank that has the whole batch",
    ),
    Bug(
        "networks.tensor.vocabulary.vocabulary_loss", DISTRIBUTED,
        "ring.allreduce(comm, sums)", "ring.allreduce(comm, sums[1])",
        "the softmax is over this rank's own words only",
        "one rank that has all words",
    ),
    Bug(
        "networks.tensor.vocabulary.vocabulary_loss", DISTRIBUTED,
        "of_scores * (gradient / total.numel())", "of_scores * gradient",
        "the loss is a mean and its gradient that of a sum",
        "the gradient against differences, with more than one answer",
    ),
    Bug(
        "networks.pipelines.torch_stage.TorchStage", DISTRIBUTED,
        "share_of_batch = len(x) / self._rows", "share_of_batch = 1 / len(self._inputs)",
        "micro-batches count alike, also where one of them is shorter",
        "a batch that the micro-batches do not divide",
    ),
    Bug(
        "networks.pipelines.gpipe.gpipe", DISTRIBUTED,
        "range(micro_batches):\n        yield Backward",
        "range(micro_batches - 1):\n        yield Backward",
        "the last micro-batch never goes backward",
        "the gradient of one process",
    ),
    Bug(
        "networks.pipelines.one_f_one_b.order", DISTRIBUTED,
        "ahead = min(stages - 1 - stage, micro_batches)", "ahead = min(stages - 1, micro_batches)",
        "every rank keeps as many activations as the first one",
        "all numbers are right; count what is kept",
    ),
    Bug(
        "training.distribution.server_state.ServerState", DISTRIBUTED,
        "total = collected[workers[0]].copy()", "total = np.zeros_like(collected[workers[0]])",
        "the server drops a gradient, its own worker's, and divides by all",
        "the mean of what was pushed",
    ),
    Bug(
        "training.compression.feedback.Feedback", DISTRIBUTED,
        "= checked(vector) + self.residual", "= checked(vector).copy()",
        "what was not sent is kept and never added",
        "all messages together, and all vectors",
    ),
    Bug(
        "training.compression.top_k.TopK", DISTRIBUTED,
        "np.argpartition(np.abs(vector), len(vector) - k)",
        "np.argpartition(vector, len(vector) - k)",
        "it takes the largest numbers, not those of largest magnitude",
        "a vector of negative numbers",
    ),
    Bug(
        "training.compression.qsgd.QSGD", DISTRIBUTED,
        "drawn = generator.random(rows.shape, np.float32)",
        "drawn = np.full(rows.shape, 0.5, np.float32)",
        "it rounds to the nearest level: small numbers vanish for ever",
        "the mean of many messages of one vector",
    ),
    Bug(
        "training.consistency.gossip.Gossip", DISTRIBUTED,
        "mix(worker.weights, step)\n", "mix(gradient, step)\n",
        "neighbours average gradients and not weights: ranks drift apart",
        "how far apart the ranks are after many steps",
    ),
    Bug(
        "training.tasks.perceptron.Perceptron", OPERATORS,
        "back = (towards @ second.T) * (hidden > 0)", "back = towards @ second.T",
        "what did not pass forwards passes backwards",
        "the gradient against differences",
    ),
    Bug(
        "training.tasks.perceptron.softmax", OPERATORS,
        "likely / likely.sum(axis=-1,", "likely / likely.sum(axis=0,",
        "the softmax is over the samples, not over the classes",
        "the probabilities of a sample add up to one",
    ),
    Bug(
        "operators.convolution.im2col.input_gradient", OPERATORS,
        "seen[:, i, j] += spread[:, i, j]", "seen[:, i, j] = spread[:, i, j]",
        "where windows overlap the last one wins",
        "the gradient against differences, with a stride below the kernel",
    ),
    Bug(
        "operators.precision.loss_scaling.unscale", OPERATORS,
        "gradient.to(torch.float32) / scale", "(gradient / scale).to(torch.float32)",
        "it divides in half precision, and small gradients are zero again",
        "gradients that half precision cannot hold unscaled",
    ),
)  # fmt: skip
