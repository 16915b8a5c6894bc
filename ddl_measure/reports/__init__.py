"""Reports that cannot easily fool, their authors included.

report.py is the format: plain data. file.py keeps it as JSON, whole or not at all; made.py says
what code ran on which machine. review.py finds what misleads, by the rules in saying.py,
numbers.py, training_faults.py and comparing.py; findings.py names the faults and the papers that
warn of them. twelve_ways/ makes misleading results out of true measurements, one way a function.
"""
