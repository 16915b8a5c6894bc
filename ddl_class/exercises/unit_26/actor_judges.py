"""The judges of unit 26 on actors and a learner: advantages, factors for old answers, tickets."""

import math

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, texts
from ddl_teach.theory.policy_gradient import advantages, per_answer, per_token

ADVANTAGE, CLIP, LOSS, TICKET, BALANCE = texts(
    __package__, "advantage", "clip", "loss", "ticket", "balance"
)


def judge_advantage(attempt: Attempt) -> None:
    """Rewards minus the mean of their group."""
    for groups, group in ((1, 4), (3, 2), (4, 5)):
        rewards = attempt.generator.uniform(0, 1, groups * group)
        right = advantages(rewards, group)
        ask(attempt, ADVANTAGE, (rewards, group), right).compare(
            of_all=rewards - rewards.mean(),
            means=rewards - right,
            others=right * group / (group - 1),
        )


def judge_clip(attempt: Attempt) -> None:
    """PPO's factor of each token."""
    for answers, width in ((4, 0.2), (6, 0.5)):
        now, then = attempt.generator.uniform(-2, 0, (2, answers, 3))
        now[:4] = then[:4] + np.array([[2.0], [-2.0], [2.0], [-2.0]])
        apart = np.repeat([1.0, -1.0, 0.5], 2)[:answers]
        ratios = np.exp(now - then)
        right = per_token(now - then, apart, width)
        ask(attempt, CLIP, (now, then, apart, width), right).compare(
            upside_down=per_token(then - now, apart, width),
            all_kept=ratios,
            held=np.clip(ratios, 1 - width, 1 + width),
            no_sign=np.where(abs(ratios - 1) > width, 0, ratios),
            other_sign=per_token(now - then, -apart, width),
        )


def judge_loss(attempt: Attempt) -> None:
    """The loss of old answers in groups, whose ratios have a cap."""
    for cap in (2.0, 1.0):
        now, then = attempt.generator.uniform(-2, 0, (2, 6, 3))
        rewards, likely = np.array([1.0, 0, 0, 1, 1, 0]), now.sum(1)
        apart = advantages(rewards, 3)
        whole = np.exp((now - then).sum(1))
        right = -(per_answer(now - then, apart, cap)[:, 0] * apart * likely).mean()
        ask(attempt, LOSS, (now, then, rewards, 3, cap), right).compare(
            upside_down=-(np.minimum(1 / whole, cap) * apart * likely).mean(),
            at_least=-(np.maximum(whole, cap) * apart * likely).mean(),
        )


def judge_ticket(attempt: Attempt) -> None:
    """How many steps the learner must have made before a ticket is given."""
    for ticket, per_step, bound in ((7, 4, 0), (11, 4, 1), (3, 4, 2), (90, 8, 4)):
        right = max(0, ticket // per_step - bound)
        ask(attempt, TICKET, (ticket, per_step, bound), right).compare(
            below_zero=ticket // per_step - bound,
            not_whole=max(0, ticket / per_step - bound),
            later=max(0, ticket // per_step + 1 - bound),
            in_tickets=max(0, ticket - bound),
        )


def judge_balance(attempt: Attempt) -> None:
    """With how many actors the learner does not wait."""
    for per_step, mean, training, transfer in ((12, 5.0, 7.0, 1.0), (64, 3.0, 2.0, 0.25)):
        exact = per_step * (mean + transfer) / training
        given = per_step, mean, training, transfer
        ask(attempt, BALANCE, given, math.ceil(exact), given=given).compare(
            upside_down=math.ceil(training / (mean + transfer)),
            no_transfer=math.ceil(per_step * mean / training),
            one_ticket=math.ceil((mean + transfer) / training),
            down=math.floor(exact),
            not_whole=exact,
        )
