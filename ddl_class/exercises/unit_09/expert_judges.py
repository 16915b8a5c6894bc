"""The judges of unit 09's experts: a layer of experts, and where experts lie."""

import numpy as np

from ddl_class.exercises.kit import Attempt, items, ranks, several, texts, whole, within
from ddl_class.exercises.kit.asked import held, judge_seconds, run_ranks
from ddl_class.exercises.unit_09 import machine

LAYER, PLACE = texts(__package__, "experts", "place")
TOKENS, WIDTH, ROOM = 6, 3, 2
GOAL = 1.9e-3  # seconds of the puzzle; with experts in their order it takes 6.2 ms
LAYER_CAUSES = LAYER.each(stuck=ranks.stuck_or_lost)


def places(wanted: list[int], room: int) -> list[int]:
    """Of each token the place with its expert; -1 beyond the room."""
    before = [wanted[:token].count(expert) for token, expert in enumerate(wanted)]
    return [place if place < room else -1 for place in before]


def judge_experts(attempt: Attempt) -> None:
    """Each token that found room has its expert's answer added, and no other has."""
    for count in ranks.last(1, attempt.counts):
        x = attempt.generator.standard_normal((count, TOKENS, WIDTH))
        weights = attempt.generator.standard_normal((count, WIDTH, WIDTH))
        wanted = attempt.generator.integers(0, count, (count, TOKENS))
        boxes = np.zeros((count, count, ROOM, WIDTH))  # by rank, expert and place
        for rank, experts in enumerate(wanted.tolist()):
            for token, place in enumerate(places(experts, ROOM)):
                if place >= 0:
                    boxes[rank, experts[token], place] = x[rank, token]
        answers = np.maximum(boxes @ weights, 0)
        own = np.maximum(boxes @ weights[:, None], 0).swapaxes(0, 1)  # no box was sent
        kept = np.maximum(boxes.swapaxes(0, 1) @ weights[:, None], 0)  # no answer was
        given = [(x[rank], wanted[rank].tolist(), ROOM, weights[rank]) for rank in range(count)]
        call, outcome = run_ranks(attempt, LAYER, given, LAYER_CAUSES, room=ROOM)
        for rank, value in enumerate(outcome.results):
            right = x[rank] + _taken_out(answers[rank], wanted[rank].tolist())
            held(LAYER, call, rank, value, right, same=within(1e-9, 1e-12)).compare(
                no_residual=right - x[rank],
                own_expert=x[rank] + _taken_out(own[rank], wanted[rank].tolist()),
                not_returned=x[rank] + _taken_out(kept[rank], wanted[rank].tolist()),
                nothing=x[rank],
            )


def _taken_out(boxes: np.ndarray, wanted: list[int]) -> np.ndarray:
    rows = [
        boxes[expert, place] if place >= 0 else np.zeros(WIDTH)
        for expert, place in zip(wanted, places(wanted, ROOM), strict=True)
    ]
    return np.array(rows)


def judge_place(attempt: Attempt) -> None:
    """All experts lie somewhere, no rank holds too many, and the pass is short."""
    wanted = PLACE("wanted")
    rows = several(attempt.call(machine.wanted()), machine.RANKS, wanted)
    held = [items(row, wanted, whole) for row in rows]
    lies = {expert for own in held for expert in own}
    for rank, own in enumerate(held):
        PLACE.refuse_if(
            {"rank": rank, "many": len(own), "room": machine.ROOM},
            too_many=len(own) > machine.ROOM,
            twice=len(set(own)) < len(own),
        )
    lacking = sorted({*range(machine.EXPERTS)} - lies)
    PLACE.refuse_if(
        {"lacking": lacking, "last": machine.EXPERTS - 1},
        unknown=lies - {*range(machine.EXPERTS)},
        lacks=lacking,
    )
    run, (sent, owners) = machine.layer(held), machine.sent(held)
    crossing = sum(
        many
        for rank, own in enumerate(sent)
        for many, owner in zip(own, owners, strict=True)
        if rank // machine.A_NODE != owner // machine.A_NODE
    )
    most = max(run.results)
    values = {"most": most, "crossing": crossing, "rank": run.results.index(most)}
    values |= {"copies": max(map(len, held)), "room": machine.ROOM}
    judge_seconds(attempt, PLACE, run.time, GOAL, values | {"even": machine.ROWS})
