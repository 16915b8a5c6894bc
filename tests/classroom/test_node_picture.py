"""The doctor's picture of a node, of planted trees: who is near whom."""

import pytest

from ddl_class.doctor import node_picture
from ddl_class.doctor.finding import CheckResult, report

TOPOLOGY = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\t0-3\t0\tN/A
GPU1\tNV18\t X \tSYS\t4-7\t1\tN/A
NIC0\tPIX\tSYS\t X \t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
"""
OF_EIGHT = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\tNIC5\tNIC6\tNIC7\t\
NIC8\tCPU Affinity\tNUMA Affinity
GPU0  X  NV8 NV8 NV8 NV8 NV8 NV8 NV8 NODE SYS PIX SYS NODE SYS NODE SYS NODE 0-47,96-143 0
GPU1 NV8  X  NV8 NV8 NV8 NV8 NV8 NV8 NODE SYS NODE SYS PIX SYS NODE SYS NODE 0-47,96-143 0
GPU2 NV8 NV8  X  NV8 NV8 NV8 NV8 NV8 NODE SYS NODE SYS NODE SYS PIX SYS NODE 0-47,96-143 0
GPU3 NV8 NV8 NV8  X  NV8 NV8 NV8 NV8 NODE SYS NODE SYS NODE SYS NODE SYS PIX 0-47,96-143 0
GPU4 NV8 NV8 NV8 NV8  X  NV8 NV8 NV8 SYS PIX SYS NODE SYS NODE SYS NODE SYS 48-95,144-191 1
GPU5 NV8 NV8 NV8 NV8 NV8  X  NV8 NV8 SYS NODE SYS PIX SYS NODE SYS NODE SYS 48-95,144-191 1
GPU6 NV8 NV8 NV8 NV8 NV8 NV8  X  NV8 SYS NODE SYS NODE SYS PIX SYS NODE SYS 48-95,144-191 1
GPU7 NV8 NV8 NV8 NV8 NV8 NV8 NV8  X  SYS NODE SYS NODE SYS NODE SYS PIX SYS 48-95,144-191 1
"""  # eight GPUs and nine cards beside two sockets, as in issue 933 of NVIDIA/nccl
PARTS = (("0-3", 512), ("4-7", 256))
GPU, AUDIO, DISPLAY_OF_ANOTHER = (
    ("0x10de", "0x030200"),
    ("0x10de", "0x040300"),
    ("0x1af4", "0x030000"),
)


@pytest.fixture
def plant(tmp_path):
    """`plant({path: text})` writes files; parts of a node come by `parts`."""

    def planted(files, parts=PARTS):
        for number, (cores, gibibytes) in enumerate(parts):
            folder = f"devices/system/node/node{number}"
            meminfo = (
                f"Node {number} MemTotal:  {gibibytes << 20} kB\nNode {number} MemFree: 7 kB\n"
            )
            files |= {f"{folder}/cpulist": f"{cores}\n", f"{folder}/meminfo": meminfo}
            if cores:
                first = cores.split("-")[0]
                files[f"devices/system/cpu/cpu{first}/topology/physical_package_id"] = (
                    f"{number}\n"
                )
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return planted


def card(address, kind, part):
    folder, (vendor, of) = f"bus/pci/devices/{address}", kind
    return {f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{of}\n"} | {
        f"{folder}/numa_node": f"{part}\n"
    }


def test_each_gpu_and_card_stands_with_its_cores(plant):
    files = card("0000:17:00.0", GPU, 0) | card("0000:ca:00.0", GPU, 1)
    files |= card("0000:17:00.1", AUDIO, 0) | card("0000:02:00.0", DISPLAY_OF_ANOTHER, 0)
    files |= {"class/net/eth0/device/numa_node": "1\n", "class/net/lo/mtu": "65536\n"}
    files |= {"class/infiniband/mlx5_0/device/numa_node": "0\n"}
    assert node_picture.drawn(plant(files), TOPOLOGY).splitlines() == [
        "socket 0, memory 0, cores 0-3, 512 GiB; near: GPU 0, mlx5_0",
        "socket 1, memory 1, cores 4-7, 256 GiB; near: GPU 1, eth0",
        "NV18, by NVLink: GPU0-GPU1",
        "PIX, by PCIe: GPU0-NIC0",
        "SYS, from socket to socket: GPU1-NIC0",
    ]


def test_a_server_of_eight_gpus_is_drawn_by_its_two_sockets(plant):
    files, halves = {}, ((0, (0, 2, 4, 6, 8)), (1, (1, 3, 5, 7)))
    for part, nics in halves:
        for number in range(4):
            files |= card(f"0000:{16 * (4 * part + number) + 8:02x}:00.0", GPU, part)
        for nic in nics:
            files[f"class/infiniband/mlx5_{nic}/device/numa_node"] = f"{part}\n"
    tree = plant(files, (("0-47,96-143", 1024), ("48-95,144-191", 1024)))
    assert node_picture.drawn(tree, OF_EIGHT).splitlines() == [
        "socket 0, memory 0, cores 0-47,96-143, 1 TiB; near: GPU 0, GPU 1, GPU 2, GPU 3, "
        "mlx5_0, mlx5_2, mlx5_4, mlx5_6, mlx5_8",
        "socket 1, memory 1, cores 48-95,144-191, 1 TiB; near: GPU 4, GPU 5, GPU 6, GPU 7, "
        "mlx5_1, mlx5_3, mlx5_5, mlx5_7",
        "NV8, by NVLink: GPU0-GPU1, GPU0-GPU2, GPU0-GPU3, GPU0-GPU4 and 24 more",
        "NODE, by PCIe: GPU0-NIC0, GPU0-NIC4, GPU0-NIC6, GPU0-NIC8 and 24 more",
        "SYS, from socket to socket: GPU0-NIC1, GPU0-NIC3, GPU0-NIC5, GPU0-NIC7 and 32 more",
        "PIX, by PCIe: GPU0-NIC2, GPU1-NIC4, GPU2-NIC6, GPU3-NIC8 and 4 more",
    ]


def test_where_there_is_one_part_all_is_near_it(plant):
    files = card("0000:17:00.0", GPU, -1) | {"class/net/eth0/device/uevent": ""}
    text = node_picture.drawn(plant(files, PARTS[:1]))
    assert text == "socket 0, memory 0, cores 0-3, 512 GiB; near: GPU 0, eth0"


def test_what_is_not_known_is_said(plant):
    text = node_picture.drawn(plant(card("0000:17:00.0", GPU, -1), (*PARTS, ("", 96))))
    assert text.splitlines()[2:] == [
        "memory 2, 96 GiB; near: no GPU, no network card",
        "near which part is not known: GPU 0",
    ]


def test_many_links_are_counted():
    head = [f"GPU{number}" for number in range(4)]
    rows = [[own, *("X" if own == other else "NV12" for other in head)] for own in head]
    table = "\n".join(" ".join(row) for row in [head, *rows])
    assert node_picture.links(table) == [
        "NV12, by NVLink: GPU0-GPU1, GPU0-GPU2, GPU0-GPU3, GPU1-GPU2 and 2 more"
    ]


def test_the_doctor_says_so_where_there_is_no_such_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(node_picture, "SYS", tmp_path)
    monkeypatch.setattr(node_picture.shutil, "which", lambda name: None)
    assert node_picture.node().found.startswith("no picture")


def test_a_report_sets_lines_of_a_picture_below_each_other():
    first, second, *_ = report([CheckResult("node", "ok", "socket 0\nsocket 1")]).splitlines()
    assert second.index("socket 1") == first.index("socket 0")
