"""What is trained: a loss and its gradient, for a share of the data.

task           what a worker can be asked
digits         the handwritten digits and a small perceptron, in NumPy
perceptron     a network of two layers over one flat vector, in NumPy
quadratic      a bowl with chosen curvatures and noise, for theory
network_task   any torch network
statements     the standard library's code, embedded: gradients that are sparse by nature
paces          how long gradients take: stragglers on purpose
"""
