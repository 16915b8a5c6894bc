"""Rules about comparing: the two must differ in what is claimed, and in nothing else.

Authors choose the baselines that they want to beat. So the baseline has to have what the
contestant had: machine, cores, samples in a step, size of a sample, as many trials to choose its
settings.
"""

import math
from collections.abc import Iterator

from ddl_measure.reports.cases import Case, cases, find, place_of, same_numbers, timed
from ddl_measure.reports.findings import Finding, finding
from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import Entry

FAR_APART = 2  # years between two machines that are compared
OUTCOME = ("accuracy", "loss")  # may be compared whatever the batch
PRECISION = "precision"  # the setting that says in what numbers it computes


def hardware(case: Case) -> Iterator[Finding]:
    """The baseline must run on the same machine, and a measurement must stand beside a
    measurement."""
    for entry in case.entries if case.baseline else ():
        if entry.machine != case.baseline.machine:
            yield from _machines(case, entry, case.baseline)
    if case.pair is not None and case.claim.baseline_is != "theory":
        first, other = (series.ground for series in case.pair)
        if first is not None and other is not None and first != other:
            yield finding("unlike_grounds", case.where, one=first, other=other)


def cores(case: Case) -> Iterator[Finding]:
    """The baseline must have as many cores; if ranks grow, the cores of each must not."""
    base, known = case.baseline, [each.cores for each in case.entries if each.cores is not None]
    if base is None or base.cores is None:
        return
    if case.claim.scaling is None:
        scarce = known and base.cores < min(known)
        if scarce and case.claim.baseline_is != "other machine":
            yield finding("fewer_cores", case.where, cores=base.cores, least=min(known))
        return
    for entry in case.entries if base.cores and base.ranks else ():
        if not (entry.cores and entry.ranks) or entry.ranks == base.ranks:
            continue
        if entry.cores * base.ranks > base.cores * entry.ranks:
            its, baseline = entry.cores / entry.ranks, base.cores / base.ranks
            yield finding("cores_grow", case.where, name=entry.name, its=its, baseline=baseline)


def all_ranks(case: Case) -> Iterator[Finding]:
    """A claim about scaling must go up to the most ranks that were measured, not to those that
    suit."""
    if case.claim.scaling is None or not case.entries:
        return
    claimed = {
        each.name
        for other in cases(case.report)
        for each in other.everybody
        if (other.claim.quantity, other.claim.of) == (case.claim.quantity, case.claim.of)
    }
    last = case.entries[-1]
    alike = ["machine", "settings", "shape"] + ["batch"] * (case.claim.scaling == "strong")
    for entry in case.report.entries or ():
        same = all(getattr(entry, each) == getattr(last, each) for each in alike)
        more = (entry.ranks or 0) > (last.ranks or 0)
        if entry.name not in claimed and same and more and case.series(entry):
            yield finding("more_ranks", case.where, entry=entry)


def batches(case: Case) -> Iterator[Finding]:
    """A step must be the same work for all; under weak scaling, the same work for each rank."""
    scaling = case.claim.scaling
    known = [each for each in case.everybody if each.batch is not None]
    if case.to_target or len(known) < 2:
        return
    differ = len({each.batch for each in known}) > 1
    shown = ", ".join(f"{entry.batch} ({entry.name})" for entry in known)
    if scaling == "strong" and differ:
        yield finding("grown_batch", case.where, shown=shown)
    elif scaling == "weak" and len({each.batch / (each.ranks or 1) for each in known}) > 1:
        yield finding("unequal_batch", case.where, shown=shown)
    elif scaling is None and differ and case.claim.quantity not in OUTCOME:
        yield finding("other_batch", case.where, shown=shown)


def inputs(case: Case) -> Iterator[Finding]:
    """Samples must have the task's own size, unless larger ones are shown to be worth it."""
    natural = case.report.data.shape if case.report.data else None
    for entry in case.everybody if natural is not None else ():
        if entry.shape is None or math.prod(entry.shape) <= math.prod(natural):
            continue
        if not any(_worth(entry, another, natural) for another in case.report.entries or ()):
            where = f"{place_of(entry)}.shape"
            yield finding("larger_inputs", where, natural=natural, shape=entry.shape)


def operations(case: Case) -> Iterator[Finding]:
    """Operations are a cost: a claim must be about what they led to, in the same precision."""
    if case.claim.quantity == "operations a second":
        own = [series for entry in case.entries[-1:] for series in entry.series or ()]
        useful = any(timed(series) and series.quantity != "operations a second" for series in own)
        if case.training or not useful:
            yield finding("operations", case.where)
            return
    if case.baseline is None or case.training:
        return
    before = (case.baseline.settings or {}).get(PRECISION)
    for entry in case.entries:
        now = (entry.settings or {}).get(PRECISION)
        if now != before and not find(entry, "error"):
            yield finding("other_precision", case.where, name=entry.name, now=now, before=before)


def state_of_the_art(case: Case) -> Iterator[Finding]:
    """The baseline must be the best there is, and as well tuned."""
    baseline, claim = case.baseline, case.claim
    if baseline is None or not case.entries:
        return
    its, trials = baseline.searched or 0, max(each.searched or 0 for each in case.entries)
    alike = case.entries[-1].settings == baseline.settings or all(map(same_numbers, case.entries))
    if case.training and trials > 2 * its and not (claim.scaling or alike):
        yield finding("fewer_trials", case.where, trials=trials, baseline=its)
    if claim.baseline_is in ("best known", "best serial"):
        contestants = {name for each in cases(case.report) for name in each.claim.entries or ()}
        for entry in case.report.entries or ():
            if entry.name not in contestants and _stronger(case, entry):
                names = {"name": entry.name, "baseline": baseline.name}
                yield finding("stronger", case.where, **names)


def _machines(case: Case, entry: Entry, base: Entry) -> Iterator[Finding]:
    named = f"'{entry.machine}' is compared with '{base.machine}'"
    machines = case.report.machines or {}
    years = [
        machines.get(name or "", {}).get("year", "") for name in (entry.machine, base.machine)
    ]
    if case.claim.baseline_is != "other machine":
        yield finding("other_machine", case.where, named=named)
    elif not all(year.isdigit() for year in years):
        yield finding("unknown_age", case.where, named=named)
    elif abs(int(years[0]) - int(years[1])) > FAR_APART:
        yield finding("other_age", case.where, named=named, years=years)
    elif not case.training and entry.settings != base.settings:
        yield finding("other_settings", case.where, named=named)


def _worth(large: Entry, other: Entry, natural: tuple[int, ...]) -> bool:
    """Whether `large`, whose samples are larger, is more accurate beyond the noise than `other`,
    whose samples have the task's own size."""
    if other.shape != natural or other.settings != large.settings:
        return False
    pairs = [(larger, two) for larger in find(large, "accuracy") for two in find(other, "accuracy")
             if larger.values and two.values]  # fmt: skip
    return any((good_ratio(larger, two, "medians") or (0, 0, 0))[1] > 1 for larger, two in pairs)


def _stronger(case: Case, entry: Entry) -> bool:
    """Whether this entry beats the baseline on the same machine, cores, ranks, batch and shape."""
    mine, its = case.series(entry), case.series(case.baseline)
    means = ("machine", "cores", "ranks", "batch", "shape")
    alike = all(getattr(entry, field) == getattr(case.baseline, field) for field in means)
    if entry is case.baseline or not alike or not mine or not its or not mine.values:
        return False
    ratio = good_ratio(mine, its, "medians") if its.values else None
    return ratio is not None and ratio[1] > 1
