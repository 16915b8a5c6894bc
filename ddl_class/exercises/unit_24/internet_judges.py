"""The judges of unit 24 on slow links: bytes, the outer step, a round, fragments, their waiting;
and the puzzle: a plan for a training on a slow link."""

from ddl_class.exercises.exercise import Attempt, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, number, several, whole
from ddl_class.exercises.kit.compare import compare
from ddl_class.exercises.kit.texts import texts
from ddl_runtime.pictures.words import time_text
from ddl_teach import simulate
from ddl_teach.theory.machine import Link
from ddl_teach.theory.slow_links import Round, starts
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

FEWER, OUTER, ROUND, TURN, WAITING, PLAN = texts(
    __package__, "fewer", "outer", "round", "turn", "waiting", "plan"
)
SLOW = Link(0.05, 1 / 32e3)  # a link of 256 kbit/s
SITES, STEP, TARGET, GOAL = 4, 0.02, 0.16, 4.0  # seconds of a step; a loss; seconds
MOST_STEPS = 400


def judge_fewer(attempt: Attempt) -> None:
    """How many times fewer bytes travel."""
    for period, bits in ((500, 32), (100, 4), (30, 8), (1, 2)):
        right = period * 32 / bits
        usual = FEWER.each(
            period_only=period, bits_only=32 / bits, times_bits=period * bits / 32,
            upside_down=1 / right,
        )  # fmt: skip
        result = number(attempt.call(period, bits), FEWER("wanted"))
        compare(FEWER("call", period=period, bits=bits), result, right, usual, FEWER("otherwise"))


def judge_outer(attempt: Attempt) -> None:
    """Two outer steps, of which the second has a velocity."""
    rate, momentum = 0.7, 0.9
    agreed, velocity = attempt.generator.standard_normal((2, 4))
    for number_of in (1, 2):
        mean = agreed + attempt.generator.standard_normal(4)
        gradient = agreed - mean
        kept = momentum * velocity + gradient
        right = agreed - rate * (gradient + momentum * kept)
        usual = OUTER.each(
            other_sign=agreed + rate * (gradient + momentum * kept),
            plain=agreed - rate * kept,
            forgotten=agreed - rate * gradient,
            no_rate=agreed - (gradient + momentum * kept),
        )
        given = [row.copy() for row in (agreed, mean, velocity)]
        names = OUTER("agreed"), OUTER("velocity")
        answer = attempt.call(*given, rate, momentum)
        mine, after = arrays(answer, names, OUTER("wanted"), [(4,), (4,)])
        call = OUTER("call", number=number_of)
        compare(f"{call}: {names[0]}", mine, right, usual, OUTER("otherwise"))
        usual = OUTER.each(velocity_kept=velocity, velocity_sign=momentum * velocity - gradient)
        compare(f"{call}: {names[1]}", after, kept, usual, OUTER("otherwise"))
        agreed, velocity = right, kept


def judge_round(attempt: Attempt) -> None:
    """The end of a round on ranks, where each has other weights."""
    for count in attempt.counts:
        agreed, velocity = attempt.generator.standard_normal((2, 6))
        weights = agreed + attempt.generator.standard_normal((count, 6))
        gradient = agreed - weights.mean(0)
        kept = 0.9 * velocity + gradient
        right = agreed - 0.7 * (gradient + 0.9 * kept)
        call = ROUND("call", ranks=ranks_text(count))
        given = [(row.copy(), agreed.copy(), velocity.copy()) for row in weights]
        outcome = ranks.run(attempt, count, given, call, ranks.general(ROUND("advice")))
        for rank, (mine, common, after) in enumerate(outcome.arguments):
            setting = ROUND("of", call=call, rank=rank)
            usual = ROUND.each(untouched=weights[rank], mean=weights.mean(0), before=agreed)
            wanted = "wanted"
            compare(f"{setting}, weights", array(mine, wanted), right, usual, ROUND("otherwise"))
            compare(f"{setting}, agreed", array(common, wanted), right, {}, ROUND("otherwise"))
            compare(f"{setting}, velocity", array(after, wanted), kept, {}, ROUND("otherwise"))


def judge_turn(attempt: Attempt) -> None:
    """Which fragment begins to travel after a step, over two rounds."""
    for period, fragments in ((8, 4), (6, 3), (10, 1), (7, 3)):
        begun = starts(period, fragments)
        for step in range(1, 2 * period + 1):
            within = (step - 1) % period + 1
            right = begun.index(within) if within in begun else -1
            usual = TURN.each(
                every_step=step % fragments,
                one_further=(right + 1) % fragments if right >= 0 else -1,
                first_round=begun.index(step) if step in begun else -1,
                none=-1,
            )
            result = number(attempt.call(step, period, fragments), TURN("wanted"))
            call = TURN("call", step=step, period=period, fragments=fragments)
            compare(call, result, right, usual, TURN("otherwise"))


def judge_waiting(attempt: Attempt) -> None:
    """The seconds of a round."""
    cases = (
        (100, 1, 0, 1.0),
        (100, 4, 20, 1.0),
        (100, 4, 25, 0.2),
        (60, 2, 5, 0.5),
        (50, 1, 50, 9),
    )
    for period, fragments, delay, step in cases:
        way = Round(SITES, 1.0, period, step, fragments, delay)
        under_way = 7.5
        link = Link((under_way - 1.5 / fragments) / 6, 1.0)
        right = way.seconds(link)
        steps = period * step
        usual = WAITING.each(
            in_steps=steps + fragments * max(0.0, under_way - delay),
            no_overlap=steps + fragments * under_way,
            negative=steps + fragments * (under_way - delay * step),
            one_fragment=steps + max(0.0, under_way - delay * step),
            no_waiting=steps,
        )
        given = period, step, fragments, delay, under_way
        result = number(attempt.call(*given), WAITING("wanted"))
        call = WAITING("call", given=", ".join(map(str, given)))
        compare(call, result, right, usual, WAITING("otherwise"))


def outcome_of(
    steps: int, period: int, fragments: int, delay: int, levels: int
) -> tuple[float, float]:
    """The seconds of a training by this plan on the slow link, and its loss on digits held out:
    the larger one of two seeds."""
    seconds, losses = 0.0, []
    for seed in (0, 1):
        task = Digits(batch=8, seed=seed, dtype="float64")
        run = simulate(
            train, SITES, network=SLOW.network, task=task, compressor=Blocks(levels),
            consistency=StreamingDiLoCo(period, fragments, delay, 0.5, Nesterov(0.7, 0.6)),
            update=AdamW(0.01), steps=steps, pace=lambda worker, step: STEP, trace=False,
        )  # fmt: skip
        seconds = run.time
        losses.append(task.loss(run.results[0].weights))
    return seconds, max(losses)


def judge_plan(attempt: Attempt) -> None:
    """The loss is reached, and within the goal."""
    names = several(attempt.call(), 5, PLAN("wanted"))
    try:
        steps, period, fragments, delay, levels = map(whole, names)
        PLAN.refuse_if({"most": MOST_STEPS}, too_many=not 1 <= steps <= MOST_STEPS)
        seconds, loss = outcome_of(steps, period, fragments, delay, levels)
    except (TypeError, ValueError) as error:
        PLAN.refuse_if({"error": error}, no_plan=True)
        raise
    values = {"took": time_text(seconds), "goal": time_text(GOAL), "loss": loss, "target": TARGET}
    PLAN.refuse_if(values, not_reached=loss > TARGET, too_slow=seconds > GOAL)
    attempt.note(seconds)
