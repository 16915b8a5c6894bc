"""Consolidation: many trained networks on many ranks, and one answer out of them.

============== ====================== =============== ============================================
file           what is averaged       bytes a member  what comes out
============== ====================== =============== ============================================
ensemble       outputs, or votes      8 n classes     better than a member; costs all of them
ensemble       anything; weights      8 weights       of one training: good; of several: noise
matching       weights of twins       8 weights       networks renumbered so that it works
distillation   nothing: it teaches    8 n classes     one network that answers as all did
============== ====================== =============== ============================================

Ranks hold any number of members, perhaps none. What to look at: the same all-reduce, of outputs or
of weights, makes the best answer or the worst.
"""
