"""The usual mistakes of unit 18, and words of the message that must name each."""

import numpy as np

from ddl_measure.interval import interval
from ddl_teach.collectives import ring


def reduced(op, divide=1.0, copy=True):
    def slowest(comm, seconds):
        slow = seconds.copy() if copy else seconds
        ring.allreduce(comm, slow, op)
        return slow / (comm.size if divide == "ranks" else divide)

    return slowest


def one_number(comm, seconds):
    slow = seconds.copy()
    ring.allreduce(comm, slow, "max")
    return float(slow.max())


def scaling(points, strong=lambda ratio, more: ratio / more, weak=lambda ratio, more: ratio,
            kinds=("strong", "weak", "neither"), seen=None):  # fmt: skip
    looked = points if seen is None else [points[0], points[-1]]
    (first, batch, before), (last, _, after) = points[0], points[-1]
    if all(it[1] == batch for it in looked):
        return kinds[0], strong(before / after, last / first)
    if all(it[1] * first == batch * it[0] for it in looked):
        return kinds[1], weak(before / after, last / first)
    return kinds[2], None


def target(firsts_to_answer=np.median, there=lambda right, goal: right >= goal, never=None):
    def to_target(curves, goal):
        firsts = []
        for seconds, right in curves:
            places = np.flatnonzero(there(right, goal))
            if len(places):
                firsts.append(seconds[places[0]])
            elif never is not None:
                firsts.append(never(seconds))
        return firsts_to_answer(firsts)

    return to_target


def infinite(seconds):
    return np.inf


def review(report, **other):
    values, seen = report["values"], report["accuracy"]
    tests = {
        "no interval": len(values) < 6,
        "best of n": report["repeated"] > len(values),
        "no input time": "input" not in report["includes"],
        "throughput without accuracy": not seen,
        "no test accuracy": bool(seen) and "held out" not in seen,
        "weak scaling sold as strong": report["scaling"] == "strong"
        and len(set(report["batches"].values())) > 1,
    }
    tests |= {name.replace("_", " "): test(report) for name, test in other.items()}
    return {name for name, wrong in tests.items() if wrong}


def normal(times):
    reach = 1.96 * np.std(times, ddof=1) / len(times) ** 0.5
    return np.mean(times), np.mean(times) - reach, np.mean(times) + reach


def unsorted(times):
    left = list(np.sort(times)).index(interval(times)[1])
    return np.median(times), times[left], times[len(times) - 1 - left]


def inner(times):
    ordered, (middle, low, _) = np.sort(times), interval(times)
    left = list(ordered).index(low) + 1
    return middle, ordered[left], ordered[len(times) - 1 - left]


def measured(middle=np.median, warm=1, more=1):
    def function(work, clock, repetitions):
        seconds = []
        for _ in range(more + repetitions):
            begun = clock()
            work()
            seconds.append(clock() - begun)
        return middle(seconds[warm:] or seconds)

    return function


def use(useful=6, again=8, half=True, cards=True, time=True, upside=1):
    def function(weights, tokens, seconds, count, peak, sparse, recomputed):
        possible = peak / (2 if sparse and half else 1)
        possible *= (count if cards else 1) * (seconds if time else 1)
        each = [factor * weights * tokens for factor in (useful, again if recomputed else useful)]
        return tuple((done / possible) ** upside for done in each)

    return function


MISTAKES = [
    ("18.measured", measured(warm=0), "was a warm-up"),
    ("18.measured", measured(np.mean), "That is the mean"),
    ("18.measured", measured(min), "the luckiest call"),
    ("18.measured", measured(more=0), "make one call more"),
    ("18.measured", measured(sum), "the time of all calls"),
    ("18.measured", lambda work, clock, repetitions: clock() - clock(), "No work was done"),
    ("18.utilisation", use(half=False), "halve it if `sparse`"),
    ("18.utilisation", use(useful=8), "here 6 is right"),
    ("18.utilisation", use(again=6), "computed the forward pass twice"),
    ("18.utilisation", use(useful=2, again=2), "2 + 4 in all"),
    ("18.utilisation", use(cards=False), "divide by the number of cards"),
    ("18.utilisation", use(time=False), "divide by the seconds"),
    ("18.utilisation", lambda *given: use()(*given)[0], "return two numbers"),
    ("18.utilisation", use(upside=-1), "Upside down"),
    ("18.utilisation", lambda *given: [100 * each for each in use()(*given)], "in percent"),
    ("18.interval", lambda times: (np.median(times), 0.0, max(times)), "Sort the times"),
    ("18.interval", lambda times: np.median(times), "three numbers"),
    ("18.interval", lambda times: (np.mean(times), *interval(times)[1:]), "not the mean"),
    ("18.interval", lambda times: (np.median(times), *interval(times)[:0:-1]), "swapped"),
    ("18.interval", lambda times: (np.median(times), min(times), max(times)), "time to the"),
    ("18.interval", normal, "bell curve"),
    ("18.interval", lambda times: None, "Is a `return` missing"),
    ("18.interval", lambda times: (np.median(times), None, None), "the low end is None"),
    (
        "18.interval",
        lambda times: (np.median(times), *np.percentile(times, (2.5, 97.5))),
        "95 of 100 times",
    ),
    ("18.interval", unsorted, "sort them first"),
    ("18.interval", inner, "One place off"),
    ("18.interval", lambda times: interval(times, 0.9), "One place off"),
    ("18.slowest", lambda comm, seconds: seconds, "the rank's own times"),
    (
        "18.slowest",
        lambda comm, seconds: ring.allreduce(comm, seconds.copy(), "max"),
        "works in place and returns nothing",
    ),
    ("18.slowest", reduced("sum", "ranks"), "That is the mean"),
    ("18.slowest", reduced("sum"), "That is the sum"),
    ("18.slowest", reduced("min"), "the fastest rank"),
    ("18.slowest", reduced("max", copy=False), "`seconds` has changed"),
    ("18.slowest", one_number, "returns 1 numbers for 7"),
    ("18.slowest", lambda *given: reduced("max")(*given)[None], "one plain row"),
    ("18.scaling", lambda points: scaling(points)[0], "return two things"),
    ("18.scaling", lambda points: None, "Is a `return` missing"),
    ("18.scaling", lambda points: (scaling(points)[0], None), "the efficiency is None"),
    ("18.scaling", lambda points: scaling(points, kinds=("weak", "strong", "neither")), "it is"),
    ("18.scaling", lambda points: scaling(points, seen="ends"), "Look at all points"),
    ("18.scaling", lambda points: scaling(points, kinds=("strong", "weak", "weak")), "it is 'nei"),
    ("18.scaling", lambda points: scaling(points, strong=lambda ratio, more: ratio), "divide it"),
    (
        "18.scaling",
        lambda points: scaling(points, weak=lambda ratio, more: ratio * more),
        "in samples a second",
    ),
    (
        "18.scaling",
        lambda points: scaling(points, weak=lambda ratio, more: ratio / more),
        "there is more work",
    ),
    (
        "18.scaling",
        lambda points: scaling(points, strong=lambda ratio, more: more / ratio),
        "Upside down",
    ),
    ("18.target", target(), "have been left out"),
    ("18.target", target(never=lambda seconds: seconds[0]), "its beginning"),
    ("18.target", target(min, never=infinite), "luckiest seed"),
    ("18.target", target(np.mean, never=infinite), "the mean"),
    ("18.target", target(never=lambda seconds: seconds[-1]), "at its end either"),
    ("18.target", target(never=infinite, there=lambda right, goal: right > goal), "not >"),
    (
        "18.target",
        target(never=infinite, there=lambda right, goal: right == max(right)),
        "when it is best",
    ),
    ("18.runs", lambda seconds, spreads, width: 143, "return a list of four whole numbers"),
    ("18.runs", lambda seconds, spreads, width: [0, 40, 2, 160], "1 or more"),
    ("18.runs", lambda seconds, spreads, width: [2.5, 40, 2, 160], "a whole number of runs"),
    ("18.runs", lambda seconds, spreads, width: [20] * 4, "known to within 0.2666 s"),
    ("18.runs", lambda seconds, spreads, width: [143] * 4, "All runs take"),
    ("18.review", lambda report: len(review(report)), "return a set of names"),
    ("18.review", lambda report: review(report, no_interval=lambda it: len(it["values"]) < 7),
     "exactly six"),
    ("18.review", lambda report: review(report, no_interval=lambda it: len(it["values"]) < 5),
     "Six values are"),
    ("18.review", lambda report: review(
        report, weak_scaling_sold_as_strong=lambda it: len(set(it["batches"].values())) > 1),
     "called weak"),
    ("18.review", lambda report: review(
        report, no_test_accuracy=lambda it: "held out" not in it["accuracy"]), "the other fault"),
    ("18.review", lambda report: review(
        report, throughput_without_accuracy=lambda it: not it["accuracy"].get("held out")),
     "only if none was measured"),
    ("18.review", lambda report: review(report, best_of_n=lambda it: False), "'best of n' is not"),
    ("18.review", lambda report: review(report, no_input_time=lambda it: False), "has to stand"),
    ("18.review", lambda report: {it.upper() for it in review(report)}, "is not found"),
]  # fmt: skip
