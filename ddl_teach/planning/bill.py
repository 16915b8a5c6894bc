"""What a training costs: days, accelerator hours, dollars, energy and carbon.

    energy = accelerators x hours x watts x PUE       carbon = energy x grams a kWh

`watts` is that of the data sheet, the most an accelerator may take, and nothing is added for its
host; PUE is what the building takes for each watt of its machines. Strubell et al. 2019 (carbon
of a training), Patterson et al. 2021 (100 times apart by model, place and machine), Luccioni
et al. 2023 (BLOOM: 1,082,990 hours of an A100, 433,196 kWh, 24.7 t at 57 g a kWh, without PUE).
What to look at: `useful` is the share of the time that no failure takes; a plan has none.
"""

from dataclasses import dataclass

from ddl_teach.planning.plans import PlannedStep
from ddl_teach.planning.sizes import TrainingJob

PRICE = 2.0  # dollars of an H800's hour, as DeepSeek-AI 2024 assumes it
PUE = 1.1  # Google's data centres in 2020 by Patterson et al., 2021
GRAMS = 429.0  # CO2 equivalents of a kWh, the mean of the United States in Patterson et al., 2021


@dataclass(frozen=True)
class Bill:
    """A whole training."""

    steps: float
    days: float
    hours: float  # of one accelerator
    dollars: float
    kilowatt_hours: float
    tonnes: float  # of CO2 equivalents


def bill(
    job: TrainingJob, step: PlannedStep, words: float, price: float = PRICE, pue: float = PUE,
    grams: float = GRAMS, useful: float = 1.0,
) -> Bill:  # fmt: skip
    """For `words` words by steps like this one."""
    if not 0 < useful <= 1:
        raise ValueError(f"useful={useful} must be a share: above 0, at most 1")
    if min(words, price, grams) < 0 or pue < 1:
        raise ValueError("words, price and grams must be 0 or more, and pue at least 1")
    steps = words / job.global_batch / job.sequence
    seconds = steps * step.time.total / useful
    hours = step.plan.ranks * seconds / 3600
    energy = hours * job.accelerator.watts / 1000 * pue
    return Bill(steps, seconds / 86_400, hours, hours * price, energy, energy * grams / 1e6)
