"""Runs in the formats of other tools.

    operations    what a rank did, and what each operation had to wait for
    goal          GOAL, the schedules of LogGOPSim and ATLAHS
    chakra        Chakra execution traces, for ASTRA-sim and others
    torch_trace   a trace of torch's profiler (Kineto), read back as a `Run`

A trace for Perfetto is `pictures.trace`.
"""
