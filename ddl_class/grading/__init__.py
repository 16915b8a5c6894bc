"""Grading of notebooks that learners wrote: their code runs in a sandbox, the judges outside of
it.
"""
