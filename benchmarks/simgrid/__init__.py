"""Our simulator beside SimGrid: the same patterns, platforms and sizes; times and speed.

    python -m benchmarks.simgrid.compare

SimGrid (Casanova, Giersch, Legrand, Quinson & Suter, JPDC 74(10), 2014) shares nothing with our
simulator but the idea, so where both say the same time, both are probably right. `patterns.cpp`
is written for its S4U interface and compiled by the benchmark, `programs.py` holds the same
patterns as rank programs, `platform.py` writes our networks down in SimGrid's language.
"""
