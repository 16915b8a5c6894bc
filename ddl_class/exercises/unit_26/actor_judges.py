"""The judges of unit 26 on actors and a learner: advantages, factors for old answers, tickets."""

import math

import numpy as np

from ddl_class.exercises.exercise import Attempt
from ddl_class.exercises.kit.answers import array, number
from ddl_class.exercises.kit.compare import compare, shown
from ddl_class.exercises.kit.texts import texts
from ddl_teach.theory.policy_gradient import advantages, per_answer, per_token

ADVANTAGE, CLIP, LOSS, TICKET, BALANCE = texts(
    __package__, "advantage", "clip", "loss", "ticket", "balance"
)


def judge_advantage(attempt: Attempt) -> None:
    """Rewards minus the mean of their group."""
    for groups, group in ((1, 4), (3, 2), (4, 5)):
        rewards = attempt.generator.uniform(0, 1, groups * group)
        right = advantages(rewards, group)
        usual = ADVANTAGE.each(
            of_all=rewards - rewards.mean(),
            means=rewards - right,
            others=right * group / (group - 1),
        )
        result = array(attempt.call(rewards.copy(), group), ADVANTAGE("wanted"), right.shape)
        call = ADVANTAGE("call", rewards=shown(rewards), group=group)
        compare(call, result, right, usual, ADVANTAGE("otherwise"))


def judge_clip(attempt: Attempt) -> None:
    """PPO's factor of each token."""
    for answers, width in ((4, 0.2), (6, 0.5)):
        now, then = attempt.generator.uniform(-2, 0, (2, answers, 3))
        now[:4] = then[:4] + np.array([[2.0], [-2.0], [2.0], [-2.0]])
        apart = np.repeat([1.0, -1.0, 0.5], 2)[:answers]
        ratios = np.exp(now - then)
        usual = CLIP.each(
            upside_down=per_token(then - now, apart, width),
            all_kept=ratios,
            held=np.clip(ratios, 1 - width, 1 + width),
            no_sign=np.where(abs(ratios - 1) > width, 0, ratios),
            other_sign=per_token(now - then, -apart, width),
        )
        result = array(attempt.call(now, then, apart, width), CLIP("wanted"), now.shape)
        right = per_token(now - then, apart, width)
        compare(CLIP("call", width=width), result, right, usual, CLIP("otherwise"))


def judge_loss(attempt: Attempt) -> None:
    """The loss of old answers in groups, whose ratios have a cap."""
    for cap in (2.0, 1.0):
        now, then = attempt.generator.uniform(-2, 0, (2, 6, 3))
        rewards, likely = np.array([1.0, 0, 0, 1, 1, 0]), now.sum(1)
        apart = advantages(rewards, 3)
        whole = np.exp((now - then).sum(1))
        usual = LOSS.each(
            upside_down=-(np.minimum(1 / whole, cap) * apart * likely).mean(),
            at_least=-(np.maximum(whole, cap) * apart * likely).mean(),
        )
        result = number(attempt.call(now, then, rewards, 3, cap), LOSS("wanted"))
        right = -(per_answer(now - then, apart, cap)[:, 0] * apart * likely).mean()
        compare(LOSS("call", cap=cap), result, right, usual, LOSS("otherwise"))


def judge_ticket(attempt: Attempt) -> None:
    """How many steps the learner must have made before a ticket is given."""
    for ticket, per_step, bound in ((7, 4, 0), (11, 4, 1), (3, 4, 2), (90, 8, 4)):
        right = max(0, ticket // per_step - bound)
        usual = TICKET.each(
            below_zero=ticket // per_step - bound,
            not_whole=max(0, ticket / per_step - bound),
            later=max(0, ticket // per_step + 1 - bound),
            in_tickets=max(0, ticket - bound),
        )
        result = number(attempt.call(ticket, per_step, bound), TICKET("wanted"))
        call = TICKET("call", ticket=ticket, per_step=per_step, bound=bound)
        compare(call, result, right, usual, TICKET("otherwise"))


def judge_balance(attempt: Attempt) -> None:
    """With how many actors the learner does not wait."""
    for per_step, mean, training, transfer in ((12, 5.0, 7.0, 1.0), (64, 3.0, 2.0, 0.25)):
        exact = per_step * (mean + transfer) / training
        usual = BALANCE.each(
            upside_down=math.ceil(training / (mean + transfer)),
            no_transfer=math.ceil(per_step * mean / training),
            one_ticket=math.ceil((mean + transfer) / training),
            down=math.floor(exact),
            not_whole=exact,
        )
        given = per_step, mean, training, transfer
        result = number(attempt.call(*given), BALANCE("wanted"))
        call = BALANCE("call", given=given)
        compare(call, result, math.ceil(exact), usual, BALANCE("otherwise"))
