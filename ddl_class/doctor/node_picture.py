"""The node as text: its sockets, and which GPUs and network cards are near which cores.

A core reaches memory, GPUs and cards of its own part of the node at full speed; what is near
another part it reaches through the link between them. What to look at: a rank's cores should stand
in the line of its GPU, and its network card beside them.
"""

import re
import shutil
import subprocess
from pathlib import Path

from ddl_class.doctor.finding import PATIENCE, check
from ddl_runtime.pictures.words import size_text

SYS = Path("/sys")
MAKERS = ("0x10de", "0x1002")  # of GPUs: NVIDIA, AMD
GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")  # of PCI: displays and accelerators
COLUMN = re.compile(r"(GPU|NIC|mlx5_)\d+")
SHOWN = 4  # pairs of each kind


@check("node")
def node() -> str:
    """What is near whom in this machine?"""
    topology = ""
    if smi := shutil.which("nvidia-smi"):
        asked = [smi, "topo", "-m"]
        run = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
        topology = "" if run.returncode else run.stdout
    return drawn(SYS, topology) or "no picture: Linux describes a node in /sys, this system not"


def drawn(sys: Path, topology: str = "") -> str:
    """A line for each part of the node, and one for each kind of link between GPUs."""
    folders = sorted(sys.glob("devices/system/node/node[0-9]*"), key=_number)
    cards = sorted(sys.glob("bus/pci/devices/*"))
    cards = [card for card in cards if _read(card / "vendor") in MAKERS]
    gpus = [card for card in cards if _read(card / "class")[:6] in GPU_CLASSES]
    devices = {f"GPU {number}": gpu for number, gpu in enumerate(gpus)}
    for kind in ("net", "infiniband"):
        devices |= {path.parent.name: path for path in sorted(sys.glob(f"class/{kind}/*/device"))}
    # The part that each is near; -1 if that is not known.
    places = {name: int(_read(path / "numa_node") or -1) for name, path in devices.items()}
    if len(folders) == 1:  # then all is near it
        places = dict.fromkeys(places, _number(folders[0]))
    lines = []
    for folder in folders:
        near = [name for name, place in places.items() if place == _number(folder)]
        lines.append(f"{_part(sys, folder)}; near: {', '.join(near) or 'no GPU, no network card'}")
    if lost := [name for name, place in places.items() if place < 0]:
        lines.append(f"near which part is not known: {', '.join(lost)}")
    return "\n".join(lines + links(topology))


def links(topology: str) -> list[str]:
    """What `nvidia-smi topo -m` says of GPUs: a line for each kind of link."""
    rows = [line.split() for line in re.sub(r"\x1b\[[\d;]*m", "", topology).splitlines()]
    pairs: dict[str, list[str]] = {}
    for number, row in enumerate(rows[1:], 1):
        for other, way in zip(rows[0][number:], row[number + 1 :], strict=False):
            if row[0].startswith("GPU") and COLUMN.fullmatch(other):
                pairs.setdefault(way, []).append(f"{row[0]}-{other}")
    means = {"NV": "by NVLink", "SY": "from socket to socket"}
    return [
        f"{way}, {means.get(way[:2], 'by PCIe')}: {', '.join(names[:SHOWN])}"
        + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        for way, names in pairs.items()
    ]


def _part(sys: Path, folder: Path) -> str:
    cores = _read(folder / "cpulist")
    memory = re.search(r"MemTotal:\s+(\d+)", _read(folder / "meminfo"))
    text = f"memory {_number(folder)}"
    if first := re.match(r"\d+", cores):
        socket = sys / f"devices/system/cpu/cpu{first[0]}/topology/physical_package_id"
        text = f"socket {_read(socket) or '?'}, {text}, cores {cores}"
    return f"{text}, {size_text(1024 * int(memory[1]))}" if memory else text


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("node"))


def _read(file: Path) -> str:
    return file.read_text().strip() if file.is_file() else ""
