"""Twelve ways to fool with true measurements: each a function, a report, and two pictures.

    trick = ignore_accuracy(true_measurements())
    review(trick.fooling)  # finds trick.fault

All numbers stay as they were measured. What fools is what is left away, put beside, or called by
another name; so every trick can be undone, and its second picture undoes it. They are the ways of
T. Hoefler, "Twelve ways to fool the masses when reporting performance of deep learning workloads",
2018, after D. H. Bailey, "Twelve ways to fool the masses when giving performance results on
parallel computers", 1991. all_ways.py has them in his order.
"""
