"""Rules about comparing: the two must differ in what is claimed, and in nothing else.

Baselines are chosen by those who want to beat them. So the baseline has to have what the
contestant had: machine, cores, samples in a step, size of a sample, as many trials to choose its
settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddl_measure.reports.cases import (
    Case,
    cases,
    find,
    same_numbers,
    timed,
)
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import Entry, Report

FAR_APART = 2  # years between two machines that are compared
OUTCOME = ("accuracy", "loss")  # may be compared whatever the batch
PRECISION = "precision"  # the setting that says in what numbers it computes


def hardware(report: Report) -> Iterator[Finding]:
    """The same machine, as many cores, and what is measured beside what is measured."""
    for case in cases(report):
        if case.baseline is None:
            continue
        for entry in case.entries:
            if entry.machine != case.baseline.machine:
                yield from _machines(case, entry)
        cores = [it.cores for it in case.entries if it.cores is not None]
        scarce = case.baseline.cores is not None and cores and case.baseline.cores < min(cores)
        yield from _cores_of_a_rank(case)
        if scarce and case.claim.scaling is None and case.claim.baseline_is != "other machine":
            yield Finding(
                "single-core baseline",
                case.where,
                f"the baseline has {case.baseline.cores} cores, the others {min(cores)}",
                "give the baseline as many, or call it scaling and show one's own on one core",
            )
        if case.pair is not None and case.claim.baseline_is != "theory":
            one, other = (it.ground for it in case.pair)
            if one is not None and other is not None and one != other:
                yield Finding(
                    "unlike grounds",
                    case.where,
                    f"{one} is compared with {other}",
                    "compare measured with measured and simulated with simulated",
                )


def all_ranks(report: Report) -> Iterator[Finding]:
    """How it scales is told up to the most ranks that were tried, not up to those that suit."""
    told = {
        (case.claim.quantity, case.claim.of, it.name)
        for case in cases(report)
        for it in case.everybody
    }
    for case in cases(report):
        if case.claim.scaling is None or not case.entries:
            continue
        last = case.entries[-1]
        alike = ["machine", "settings", "shape"] + ["batch"] * (case.claim.scaling == "strong")
        for entry in report.entries or ():
            said = (case.claim.quantity, case.claim.of, entry.name) in told
            same = all(getattr(entry, it) == getattr(last, it) for it in alike)
            if not said and same and (entry.ranks or 0) > (last.ranks or 0) and case.series(entry):
                yield Finding(
                    "best of n",
                    case.where,
                    f"'{entry.name}' was measured as well, with {entry.ranks} ranks",
                    "name all ranks that were tried in 'entries'; where it stops scaling is a "
                    "result",
                )


def batches(report: Report) -> Iterator[Finding]:
    """The same work in a step, or a word about it."""
    for case in cases(report):
        claim, known = case.claim, [it for it in case.everybody if it.batch is not None]
        sizes = {it.batch for it in known}
        shown = f"samples of a step: {', '.join(f'{it.batch} ({it.name})' for it in known)}"
        if case.to_target or len(known) < 2:
            continue
        if claim.scaling == "strong" and len(sizes) > 1:
            yield Finding(
                "weak scaling sold as strong",
                case.where,
                shown,
                "keep the whole batch as it is while ranks grow, or say 'weak'",
            )
        elif claim.scaling == "weak" and len({it.batch / (it.ranks or 1) for it in known}) > 1:
            yield Finding(
                "other batch size",
                case.where,
                f"{shown}: not as many on each rank",
                "give each rank as many samples, whatever the number of ranks",
            )
        elif claim.scaling is None and len(sizes) > 1 and claim.quantity not in OUTCOME:
            yield Finding(
                "other batch size",
                case.where,
                shown,
                "compare with the same batch, or compare times to a target",
            )


def inputs(report: Report) -> Iterator[Finding]:
    """Samples of the size that the task has; larger ones must be worth it."""
    natural = report.data.shape if report.data else None
    for case in cases(report):
        for entry in case.everybody:
            if natural is None or entry.shape is None or _size(entry.shape) <= _size(natural):
                continue
            if not any(_worth(entry, it, natural) for it in report.entries or ()):
                yield Finding(
                    "unreasonably large inputs",
                    f"entries['{entry.name}'].shape",
                    f"samples are {natural}, it was given {entry.shape}",
                    "take them as they are, or show beside it how much accuracy that would lose",
                )


def operations(report: Report) -> Iterator[Finding]:
    """Operations are a cost: what counts is what they led to, in the same precision."""
    for case in cases(report):
        if case.claim.quantity == "operations a second":
            last = case.entries[-1:]
            useful = any(
                timed(it) and it.quantity != "operations a second"
                for entry in last
                for it in entry.series or ()
            )
            if case.training or not useful:
                yield Finding(
                    "operations instead of results",
                    case.where,
                    "operations a second are claimed, not what was achieved",
                    "say in how many seconds the work was done, and claim that",
                )
                continue
        if case.baseline is None or case.training:
            continue
        before = (case.baseline.settings or {}).get(PRECISION)
        for entry in case.entries:
            now = (entry.settings or {}).get(PRECISION)
            if now != before and not find(entry, "error"):
                yield Finding(
                    "operations instead of results",
                    case.where,
                    f"'{entry.name}' computes in {now}, the baseline in {before}",
                    "compare in one precision, or add the error of the result",
                )


def state_of_the_art(report: Report) -> Iterator[Finding]:
    """The baseline is the best there is, and as well tuned."""
    contestants = {name for case in cases(report) for name in case.claim.entries or ()}
    for case in cases(report):
        baseline, claim = case.baseline, case.claim
        if baseline is None or not case.entries:
            continue
        trials = max((it.searched or 0 for it in case.entries), default=0)
        proven = all(map(same_numbers, case.entries))
        if (
            case.training
            and trials > 2 * (baseline.searched or 0)
            and not (claim.scaling or proven or case.entries[-1].settings == baseline.settings)
        ):
            yield Finding(
                "poor baseline",
                case.where,
                f"{trials} trials chose the settings, {baseline.searched or 0} the baseline's",
                "spend as many trials on the baseline",
            )
        if claim.baseline_is not in ("best known", "best serial"):
            continue
        for entry in report.entries or ():
            if entry.name not in contestants and _stronger(case, entry):
                yield Finding(
                    "poor baseline",
                    case.where,
                    f"'{entry.name}' is better than the baseline '{baseline.name}'",
                    "compare with it",
                )


def _machines(case: Case, entry: Entry) -> Iterator[Finding]:
    named = f"'{entry.machine}' is compared with '{case.baseline.machine}'"
    if case.claim.baseline_is != "other machine":
        yield Finding(
            "other hardware",
            case.where,
            named,
            "measure both on one machine; or if machines are compared, say 'other machine'",
        )
        return
    machines = case.report.machines or {}
    years = [machines.get(it, {}).get("year", "") for it in (entry.machine, case.baseline.machine)]
    if not all(year.isdigit() for year in years):
        yield Finding(
            "other hardware",
            case.where,
            f"{named}, of unknown age",
            "write the year each came out, as 'year' of the machine",
        )
    elif abs(int(years[0]) - int(years[1])) > FAR_APART:
        yield Finding(
            "other hardware",
            case.where,
            f"{named}: of {years[0]} and {years[1]}",
            "compare machines of one time",
        )
    elif case.claim.about != "training" and entry.settings != case.baseline.settings:
        yield Finding(
            "other hardware",
            case.where,
            f"{named}, with other settings",
            "run the same program with the same settings on both",
        )


def _cores_of_a_rank(case: Case) -> Iterator[Finding]:
    """Ranks that grow must not each grow as well."""
    base = case.baseline
    if case.claim.scaling is None or not (base.cores and base.ranks):
        return
    for entry in case.entries:
        if not (entry.cores and entry.ranks) or entry.ranks == base.ranks:
            continue
        if entry.cores * base.ranks > base.cores * entry.ranks:
            yield Finding(
                "single-core baseline",
                case.where,
                f"'{entry.name}' has {entry.cores / entry.ranks:g} cores for each rank, the "
                f"baseline {base.cores / base.ranks:g}",
                "give each rank as many threads at every number of ranks",
            )


def _worth(large: Entry, other: Entry, natural: tuple[int, ...]) -> bool:
    """Whether `other`, with samples as they come, is less accurate beyond the noise."""
    if other.shape != natural or other.settings != large.settings:
        return False
    pairs = [(one, two) for one in find(large, "accuracy") for two in find(other, "accuracy")
             if one.values and two.values]  # fmt: skip
    return any((good_ratio(one, two, "medians") or (0, 0, 0))[1] > 1 for one, two in pairs)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _stronger(case: Case, entry: Entry) -> bool:
    """Whether it beats the baseline with the same means."""
    mine, its = case.series(entry), case.series(case.baseline)
    means = ("machine", "cores", "ranks", "batch", "shape")
    alike = all(getattr(entry, it) == getattr(case.baseline, it) for it in means)
    if entry is case.baseline or not alike or not mine or not its or not mine.values:
        return False
    ratio = good_ratio(mine, its, "medians") if its.values else None
    return ratio is not None and ratio[1] > 1
