"""Why there can be no box here, and what to do about it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ddl_class.clusters.box.plan import search_path
from ddl_class.commands.mistake import Mistake

TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "mount": "util-linux"}
TOOLS |= {"ip": "iproute2", "tc": "iproute2"}
SYSTEM = Path("/proc/sys")
# What a file says when ordinary users may make no namespaces, and what allows them to.
FORBIDDEN = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),  # Ubuntu 23.10 and later
    "kernel/unprivileged_userns_clone": ("0", "1"),  # older Debian
    "user/max_user_namespaces": ("0", "10000"),
}
OTHERWISE = (
    "Without a box, the same rank programs run on this machine's processes (`launch`) and on "
    "simulated ranks with links of any speed (`simulate`)."
)


def check_system() -> None:
    """Refuse where a box cannot even be tried."""
    if sys.platform != "linux":
        raise Mistake(
            "The box is made of Linux namespaces, which this system does not have. On macOS use "
            "a Linux machine or a virtual one (Lima, UTM, Multipass); on Windows use WSL2.\n"
            + OTHERWISE
        )
    missing = [tool for tool in TOOLS if shutil.which(tool, path=search_path()) is None]
    if missing:
        packages = " and ".join(sorted({TOOLS[tool] for tool in missing}))
        raise Mistake(
            f"The box needs what is not on PATH: {', '.join(missing)}. Install {packages} with "
            f"this system's package manager.\n{OTHERWISE}"
        )


def refusal(said: str, root: bool, system: Path = SYSTEM) -> Mistake:
    """The explanation of why no box came to be; `said` are the tools' own words."""
    closed = {
        name: allowed
        for name, (forbidden, allowed) in FORBIDDEN.items()
        if (system / name).is_file() and (system / name).read_text().strip() == forbidden
    }
    if closed and not root:
        settings = [f"{name.replace('/', '.')}={allowed}" for name, allowed in closed.items()]
        cure = "".join(f"\n  sudo sysctl {setting}" for setting in settings)
        why = f"This system does not let ordinary users make namespaces. Allow it once:{cure}"
    elif Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        why = (
            "This is a container that may not make namespaces of its own. Start it with "
            "`--privileged`, or make the box outside of it."
        )
    else:
        why = "What the system said stands below."
    return Mistake(f"No box could be made. {why}\n{OTHERWISE}\n\n{said.strip()}".strip())


def can_delay(root: bool) -> bool:
    """Whether this kernel's own switch can delay and lose packets."""
    probe = "ip link set lo up; tc qdisc add dev lo root netem delay 1ms"
    words = ["unshare", *as_root(root), "--net", "sh", "-c", probe]
    path = os.environ | {"PATH": search_path()}
    return subprocess.run(words, capture_output=True, env=path).returncode == 0


def as_root(root: bool) -> list[str]:
    """The words of `unshare` for being root in a namespace of one's own."""
    return [] if root else ["--user", "--map-root-user"]
