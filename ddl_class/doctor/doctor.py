"""The doctor: is this machine fit for the course, and if not, what is to be done?

Each check looks at one thing, says what it found and how to mend it. A warning leaves the course
usable; a failure does not. What to look at: the line of the two ranks. With the wrong mpiexec each
process believes it is rank 0 of 1, silently, and every result is wrong without an error.
"""

from collections.abc import Callable, Sequence

from ddl_class.doctor import gpu_checks, machine_checks, mpi_checks
from ddl_class.doctor.finding import CheckResult

CHECKS: tuple[Callable[[], CheckResult], ...] = (
    machine_checks.python, machine_checks.packages, machine_checks.torch_build,
    mpi_checks.library, mpi_checks.starter, mpi_checks.settings,
    mpi_checks.two_ranks, mpi_checks.slots, mpi_checks.threads, machine_checks.cores,
    gpu_checks.gpu, gpu_checks.torch_and_gpu, gpu_checks.mpi_and_gpu, gpu_checks.ucx,
    gpu_checks.sharing, machine_checks.shared_memory, machine_checks.leftovers,
)  # fmt: skip


def examine(checks: Sequence[Callable[[], CheckResult]] = CHECKS) -> list[CheckResult]:
    """Make every check, also after one that failed or broke."""
    return [_examine(check) for check in checks]


def report(findings: Sequence[CheckResult], whole: str = "This machine") -> str:
    """Return the findings as lines to read, and a last line that sums up what was examined."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<4}  {finding.name:<{width}}  {finding.found}")
        if finding.mend:
            margin = " " * (width + 8)
            mend = finding.mend.replace("\n", f"\n{margin}  ")
            lines.append(f"{margin}> {mend}")
    failures = sum(finding.status == "fail" for finding in findings)
    warnings = sum(finding.status == "warn" for finding in findings)
    end = f"{whole} is fit for the course; warnings: {warnings}."
    if failures:
        end = f"The course will not run well here: {failures} to mend, {warnings} to know of."
    return "\n".join([*lines, "", end])


def _examine(check: Callable[[], CheckResult]) -> CheckResult:
    try:
        return check()
    except Exception as error:  # a broken check must not hide the others' findings
        name = check.__name__.replace("_", " ")
        return CheckResult(name, "warn", f"could not be checked: {type(error).__name__}: {error}")
