"""The puzzle of unit 25: what the house calls the best known it can show."""

# All plans of `rank_plans` were computed in eight bits, on every multiple of 8 of H100s and H200s
# from 560 on: fewer are not ready in time. In 16 bits nothing costs less than a million.
PLAN = {"data": 512, "context": 2, "sharding": 3, "recompute": "norms", "precision": "fp8"}
BEST = {"25.plan": lambda words, days: ("H100", 1024, PLAN)}
