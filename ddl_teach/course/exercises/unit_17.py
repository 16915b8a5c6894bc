"""Unit 17, searching in parallel: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import consolidation_judges, population_judges, search_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "17",
    "Searching in parallel",
    exercises=(
        Exercise(
            "17.halving",
            "Successive halving",
            points=1,
            hints=(
                "Begin with alive = list(range(len(curves))): rung 0 trains all. Then go through "
                "the columns but the last. Which of those alive have the lowest losses in this "
                "column? sorted(..., key=...) puts them in order.",
                "for losses in curves.T[:-1]: alive = sorted(alive, key=lambda trial: "
                "losses[trial])[: max(1, len(alive) // eta)], and append it to the rungs.",
            ),
            judge=search_judges.judge_halving,
            right="All rungs cost the same, and most of the budget goes to those that earn it.",
            parameters=("curves", "eta"),
            ranks=(),
        ),
        Exercise(
            "17.promote",
            "Who waits for nobody",
            points=2,
            hints=(
                "Go through the rungs from the highest that one can be promoted from, "
                "len(finished) - 2, down to 0. Rank all that have finished the rung by their "
                "losses. How many of them deserve to go on? Who of those has not gone yet?",
                "In each rung: ranked = sorted(losses, key=lambda trial: (losses[trial], trial)); "
                "best = ranked[: len(ranked) // eta]; the first of best that is not in "
                "promoted[rung] is returned with rung + 1. After the loop: return None.",
            ),
            judge=search_judges.judge_promote,
            right="A free worker always has something to do: promote somebody, or begin anew.",
            parameters=("finished", "promoted", "eta"),
            ranks=(),
        ),
        Exercise(
            "17.exploit",
            "The worst copy the best",
            points=3,
            hints=(
                "All ranks know all losses. So each sorts the ranks by loss, and all get the same "
                "order. Its beginning are the best, its end the worst. Which pairs are there, and "
                "is this rank in one of them?",
                "order = np.argsort(losses, kind='stable'); for good, bad in zip(order[:pairs], "
                "order[::-1]): whoever is good sends weights and settings to bad, whoever is bad "
                "receives both from good, into the arrays that are there.",
            ),
            judge=population_judges.judge_exploit,
            right="Weights travel once, from rank to rank, and nobody writes a checkpoint.",
            parameters=("comm", "weights", "settings", "loss", "pairs"),
        ),
        Exercise(
            "17.evolve",
            "Evolution with ageing",
            points=2,
            hints=(
                "A step has four parts: who are the rivals, at the places of this tournament? Who "
                "of them is best, by score[genes]? What does a copy with one gene changed look "
                "like? Where does it go, and who leaves? Tuples cannot be changed, lists can.",
                "for tournament, (place, value) in zip(tournaments, mutations): parent = "
                "max((population[i] for i in tournament), key=lambda genes: score[genes]); "
                "child = list(parent); child[place] = value; population = population[1:] + "
                "[tuple(child)].",
            ),
            judge=population_judges.judge_evolve,
            right="Nobody stays for ever: what was good by luck must be good again as a child.",
            parameters=("score", "population", "tournaments", "mutations"),
            ranks=(),
        ),
        Exercise(
            "17.ensemble",
            "An ensemble on ranks",
            points=2,
            hints=(
                "Networks trained apart agree on what a probability is, and not on what a score "
                "is. So each rank first makes probabilities of its scores, row by row; then "
                "these are averaged over the ranks.",
                "powers = np.exp(scores - scores.max(axis=1, keepdims=True)); likely = powers / "
                "powers.sum(axis=1, keepdims=True); add_up(comm, likely); return likely / "
                "comm.size.",
            ),
            judge=consolidation_judges.judge_ensemble,
            right="One sum of a few numbers for each sample, and the ranks answer together.",
            parameters=("comm", "scores"),
        ),
        Exercise(
            "17.distil",
            "Learning from a teacher",
            points=3,
            hints=(
                "softmax(scores, temperature) is there. The teacher's part compares both at the "
                "temperature, the answers' part looks at the student at temperature 1. Of "
                "cross-entropy after softmax the gradient is what the student says minus what it "
                "should say; what does scores / T do to it?",
                "p = softmax(scores, T), cold = softmax(scores), right = np.eye(...)[answers]. "
                "loss = soft * T**2 * mean(-sum teacher log p) + (1 - soft) * mean(-sum right log "
                "cold). gradient = (soft * T * (p - teacher) + (1 - soft) * (cold - right)) / "
                "len(scores).",
            ),
            judge=consolidation_judges.judge_distil,
            right="A teacher also says how wrong the wrong answers are, and that is worth a lot.",
            parameters=("scores", "teacher", "answers", "temperature", "soft"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "17.busy",
            "1,000 workers, synchronous halving, run times that differ: which part of their time "
            "do they work, in percent?",
            "percent",
            close=1.3,
        ),
        Prediction(
            "17.seeds",
            "One setting, many seeds: the best of 30 runs has how many percent fewer errors than "
            "the middle one?",
            "percent",
            close=1.5,
        ),
    ),
)
