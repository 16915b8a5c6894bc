"""Unit 18, twelve ways to fool: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import number_judges, report_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "18",
    "Twelve ways to fool",
    exercises=(
        Exercise(
            "18.lucky",
            "The best of n",
            points=1,
            hints=(
                "A speed-up is their time over ours. Of theirs take the median; of ours, the "
                "least of those that have been run: ours[:runs].",
                "return np.median(theirs) / np.min(ours[:runs]).",
            ),
            judge=number_judges.judge_lucky,
            right="The more often you try, the faster you are. Nothing else has changed.",
            parameters=("ours", "theirs", "runs"),
            ranks=(),
        ),
        Exercise(
            "18.interval",
            "How sure is a median?",
            points=3,
            hints=(
                "Sort. With `left` times left out at the lower end, that end lies above the true "
                "median when at most `left` of the n times are below it. Each time is below it "
                "with chance 1/2: add up comb(n, i) / 2**n for i from 0 to left.",
                "left, missed = 0, 1 / 2**n; while (missed := missed + comb(n, left + 1) / 2**n) "
                "<= 0.025: left += 1; return np.median(ordered), ordered[left], "
                "ordered[n - 1 - left].",
            ),
            judge=number_judges.judge_interval,
            right="It encloses the median in 95 of 100 experiments, whatever the times are like.",
            parameters=("times",),
            ranks=(),
        ),
        Exercise(
            "18.slowest",
            "Whose time is it?",
            points=1,
            hints=(
                "Every rank has a time for each repetition. For each repetition all ranks must "
                "learn the largest: an all-reduce, but not of sums. `seconds` itself must stay.",
                "slow = seconds.copy(); ring.allreduce(comm, slow, 'max'); return slow.",
            ),
            judge=number_judges.judge_slowest,
            right="A step is over when its last rank is done.",
            parameters=("comm", "seconds"),
        ),
        Exercise(
            "18.scaling",
            "Weak or strong?",
            points=2,
            hints=(
                "Look at the batches of all points. All alike: strong. All batch / ranks alike: "
                "weak. Then compare the last point with the first: with perfect strong scaling "
                "the time falls as ranks grow, with perfect weak scaling it stays.",
                "first, batch, before = points[0]; last, _, after = points[-1]; strong: "
                "before * first / (after * last); weak (b * first == batch * r for all): "
                "before / after; else 'neither', None.",
            ),
            judge=number_judges.judge_scaling,
            right="A speed-up has a kind, and its kind a name.",
            parameters=("points",),
            ranks=(),
        ),
        Exercise(
            "18.target",
            "Time to a target",
            points=2,
            hints=(
                "For each training: the first second at which its accuracy is at the target or "
                "above; infinity if there is none. Then the median over all trainings.",
                "there = np.flatnonzero(right >= target); "
                "firsts.append(seconds[there[0]] if len(there) else np.inf); "
                "at the end: return np.median(firsts).",
            ),
            judge=report_judges.judge_to_target,
            right="Speed and accuracy in one number, and no training was lost on the way.",
            parameters=("curves", "target"),
            ranks=(),
        ),
        Exercise(
            "18.review",
            "A review of your own",
            points=3,
            hints=(
                "Six questions to a report, each with one line: how many values, how many were "
                "repeated, is 'input' in includes, is there an accuracy, is there one on held-out "
                "data, and are all batches alike where scaling is called strong?",
                "found = set(); if len(report['values']) < 6: found.add('no interval'); if "
                "report['repeated'] > len(report['values']): found.add('best of n'); ... if "
                "report['scaling'] == 'strong' and len(set(report['batches'].values())) > 1: ...",
            ),
            judge=report_judges.judge_review,
            right="It finds what fools, and lets the honest go.",
            parameters=("report",),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "18.lucky",
            "Two programs that are the same: how many times as fast is the best of 20 runs of the "
            "one than the median run of the other, on your machine?",
            "times as fast",
            close=1.25,
        ),
        Prediction(
            "18.repetitions",
            "How often must something be measured, at least, so that its median lies between the "
            "least and the most in 95 of 100 cases?",
            "repetitions",
            close=1.2,
        ),
        Prediction(
            "18.step",
            "Your machine: gradients in float32 instead of float64, and pictures that are read "
            "from text. How many times as fast is a whole step?",
            "times as fast",
            close=1.3,
        ),
    ),
)
