"""Surviving: what a training does when a rank, a node or the whole job fails.

  shrinking      a rank dies: the others agree, shrink and go on; nothing is saved or started again
  joining        workers join and leave between rounds, or die in one
  restarting     a rank dies, and all with it: the next start resumes from what was saved
  under_torchrun the same with torchrun's elastic restart
  progress       what a step needs, whatever the number of ranks: batches, shares, the rate
  checkpoints    whole files, newest step that all ranks have: resumed = undisturbed, bit for bit
  preemption     asked to go: all ranks agree at which step, save, and ask to be started again
  again          start a program again until it is done
  corruption     a bit flips without a word: four checks, what they find, miss and cost
  replay         a training whose gradients a neighbour computes again: wrong ones are not used
  long_run       checkpoints, preemption and again in one program

How often to save, and when shrinking wins: `theory.failures`. What each costs, measured in a
cluster in a box: `python -m benchmarks.surviving`.
"""
