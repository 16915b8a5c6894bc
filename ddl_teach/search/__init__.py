"""Above one training run: many of them at once, and what to keep of them.

A *training* is a function that goes on for some steps (`training`); a *space* says what may be set
(`space`); a *decider* says which trial is worth how many steps (`deciders`); a *driver* lets
workers do that: ranks (`by_ranks`) or engines (`course.engines.by_view`). A *journal* holds what
was done, and the *report* states every run that it took. A population needs no decider
(`population`). `architectures` searches for networks; `consolidation` makes one network of
several; `choosing` learns from measurements which algorithm is the fastest.
"""
