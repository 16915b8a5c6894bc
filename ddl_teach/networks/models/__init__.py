"""Networks small enough for two cores and true to kind, and data to train them on.

    mlp          fully connected layers
    alexnet      five convolutions and a classifier that holds most of the weights
    resnet       residual blocks with batch normalisation
    gpt          a transformer on characters
    seeds        weights from (name, full shape, seed): every way of splitting starts from the same
    loss         the loss of all of them
    descent      steps along gradients, with momentum
    data         digits, characters and documentation, in batches that every rank makes alike
    digits_table the digits as scikit-learn carries them, without importing it

Each builder takes plain sizes and gives a plain `nn.Sequential` with named children. A pipeline
may cut between any two of them: `model[2:5]` keeps the names, and so the weights.
"""
