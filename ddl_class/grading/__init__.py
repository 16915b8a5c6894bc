"""Grading of notebooks that learners wrote: their code runs in a sandbox, the judges outside.

A hand-in's way: `command` gets a folder, `collected` lists its submissions, `submission` reads the
answers of each. `batch` lets `scoring` judge them: `sandbox` starts their ranks (`inside.rank`),
`verbs` carries out on simulated ranks what these ask for, and the exercise's judge compares.
`verdicts` keeps the scores; `tables`, `feedback_page` and `gradebook` write them down.
"""
