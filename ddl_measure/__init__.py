"""Honest numbers: how long things take, and how sure one can be of it.

================ =================================================================================
repetitions      several ways of doing one thing, measured in turns after a warm-up
interval         how sure a median is, and a ratio of two; all times of one thing, none dropped
clocks           the clocks of several ranks made one: timelines corrected
ping_pong        the time of one message
near_and_far     what a message costs inside a node, and what between two
cables           what each rank's cable can carry, and what its node's card has received
device_messages  messages between devices, by every path, as OSU's benchmarks measure them
device_run       what was measured of them, with every repetition, and on what
device_paths     which path for which size: a table from times
slow_links       messages as on a slower network, by injected delay
traffic          the bytes that each rank sent to each other
scaling          strong and weak, against a stated baseline
to_accuracy      time and epochs to an accuracy on data held out
sampling         what samplers hand out, and how long that takes
analysis         operations, depth and bytes of every layer of any torch module
zoo              published networks, at full size
allocations      how much memory a piece of work took at most
energy           joules, where the machine counts them
experiments      what the rooms promise by formula, timed and counted
levels           Deep500's four levels as one harness
recipes          what is fixed, what is free, the target; repeated and laid side by side
reports          results as plain data, and their review
machine          what a measurement was made on
================ =================================================================================
"""
