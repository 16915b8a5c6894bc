"""Unit 14, when ranks agree: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import local_judges, staleness_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "14",
    "When ranks agree",
    exercises=(
        Exercise(
            "14.delayed",
            "Descent with old gradients",
            points=2,
            hints=(
                "Keep all weights in a list that begins with one. In step t the newest is "
                "weights[t], and the gradient belongs to one further back. What does Python do "
                "with weights[-2], and what do you want it to do?",
                "weights = [1.0]; for t in range(count): old = weights[max(t - staleness, 0)]; "
                "weights.append(weights[t] - step * old).",
            ),
            judge=staleness_judges.judge_delayed,
            right="Each step goes down the slope of where you were so many steps ago.",
            parameters=("step", "staleness", "count"),
            ranks=(),
        ),
        Exercise(
            "14.bounded",
            "A server that lets nobody run too far ahead",
            points=3,
            hints=(
                "Whose update has come, recv with ANY tells. Add it, count it, and put that "
                "worker among those who wait. Then look at *all* who wait: perhaps this update "
                "was the slowest worker's, and several may go on.",
                "update = np.empty_like(weights); for _ in range(len(seconds) * (comm.size - "
                "1)): worker = comm.recv(update, ANY); weights += update; clocks[worker] += 1; "
                "waiting.append(worker); then for each of list(waiting) with clocks[it] - "
                "clocks[1:].min() <= bound: comm.send(weights, it); waiting.remove(it).",
            ),
            judge=staleness_judges.judge_bounded,
            right="No update is lost, nobody runs too far ahead, and nobody waits without need.",
            parameters=("comm", "weights", "seconds", "bound"),
        ),
        Exercise(
            "14.lockfree",
            "Reading and writing without a lock",
            points=2,
            hints=(
                "For each worker keep two things when it reads: what the weights were, and how "
                "many writes there had been. Is what you keep a copy, or another name for the "
                "weights that go on changing?",
                "On a read: copies[worker] = weights.copy(), len(ages). On a write: copy, made = "
                "copies[worker]; ages.append(len(ages) - made); weights -= step * copy. At the "
                "end return weights, ages.",
            ),
            judge=staleness_judges.judge_lock_free,
            right="Whatever happened between read and write is kept; only the gradient is old.",
            parameters=("weights", "step", "events"),
            ranks=(),
        ),
        Exercise(
            "14.local",
            "Agree only now and then",
            points=2,
            hints=(
                "Inside the loop there is a step of one's own, as if there were no other ranks. "
                "After which steps do the ranks average? Count them from one, not from zero. And "
                "what if the last step is not one of those?",
                "for step, (x, y) in enumerate(zip(inputs, answers), start=1): weights -= rate * "
                "gradient(weights, x, y); if step % period == 0 or step == len(inputs): "
                "average(comm, weights).",
            ),
            judge=local_judges.judge_local,
            right="A period-th of the messages, and in the end all agree.",
            parameters=("comm", "weights", "inputs", "answers", "rate", "period"),
        ),
        Exercise(
            "14.elastic",
            "Ranks on springs",
            points=2,
            hints=(
                "Before anything moves, take two things from the weights as they are: the "
                "gradient, and the gap to the centre. The rank is pulled by its own spring, the "
                "centre by those of all ranks. What does average() give you, and what do you "
                "want?",
                "for x, y in zip(inputs, answers): slope = gradient(weights, x, y); gap = weights "
                "- centre; weights -= rate * slope + spring * gap; average(comm, gap); centre += "
                "spring * comm.size * gap.",
            ),
            judge=local_judges.judge_elastic,
            right="Each rank explores on its own, and a spring keeps it from getting lost.",
            parameters=("comm", "weights", "centre", "inputs", "answers", "rate", "spring"),
        ),
    ),
    predictions=(
        Prediction(
            "14.rate",
            "64 workers, nobody waits, so each gradient is 63 steps old. How many times smaller "
            "than alone must a step be to stay stable?",
            "times",
        ),
        Prediction(
            "14.straggler",
            "256 workers may be 16 steps apart, and one of them is five times slower. How many "
            "times as long as without it do 400 steps of each take?",
            "times",
            close=1.25,
        ),
    ),
)
