"""The head of the box: process 1 of namespaces of its own, which makes the switch and the nodes.

A *namespace* is a private view of something that all processes of a machine otherwise share: the
network, the mounts, the host name, memory between processes, process numbers. A node is nothing
but a shell in five new namespaces, with a cable to the switch that the head has. When a process 1
ends, the kernel ends every process of its namespace, and takes mounts and cables back: so nothing
outlives the head. Only the standard library is used, so that it starts within milliseconds.

    head.py PLAN              be the head: plan.json says of what
    head.py PLAN NODE         on the head: power that node on
"""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

WORLD = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child")
WORLD += ("--mount-proc", "--propagation", "private")

FURNISH = str(Path(__file__).with_name("furnish.sh"))


def main(plan_file: str, node: str = "") -> None:
    """Make the head, or one node again."""
    plan = json.loads(Path(plan_file).read_text())
    os.environ |= {"HOSTS": plan["hosts"], "PYTHON_FOLDER": plan["python"], "OVER": plan["over"]}
    if node:
        start_nodes(plan, [node])
        return
    subprocess.run(["sh", FURNISH, "head", *plan["kept"]], check=True)
    if plan["switch"] == "user":
        program = str(Path(__file__).with_name("switch.py"))
        words = [sys.executable, "-I", "-S", program, plan["control"]]
        switch = subprocess.Popen(words, stdout=subprocess.PIPE)
        if switch.stdout.readline() != b"ready\n":
            sys.exit("the switch could not be started")
        ask_switch(plan["control"], {"port": "head", "pid": os.getpid()})
        ip([f"addr add {plan['address']}/24 dev eth0", "link set eth0 up"])
    else:
        # Without a number of its own it takes a port's, and changes it when that one goes.
        ip(
            [
                "link add br0 address 02:00:00:00:00:01 type bridge mcast_snooping 0",
                f"addr add {plan['address']}/24 dev br0",
                "link set br0 up",
            ]
        )
    start_nodes(plan, list(plan["nodes"]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects the dead
    print("up", flush=True)
    # The owner holds the other end. Whatever ends the owner ends the line, and that the box.
    if sys.stdin.readline() == "stay\n":
        while True:
            signal.pause()


def start_nodes(plan: dict[str, Any], names: list[str]) -> None:
    """Power nodes on, all at once, and plug their cables in."""
    words = ["unshare", *WORLD, "sh", FURNISH]
    # Longer ones are cut by the card in reality, and would make a slow cable coarse.
    packets = f"gso_max_size {plan['largest']} gso_max_segs {max(1, plan['largest'] // 1448)}"
    # Nobody who waits for this program's last words shall wait for the nodes'.
    with open(Path(plan["folder"]) / "log", "a") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log}
        started = {
            name: subprocess.Popen([*words, name, *plan["kept"]], **quiet) for name in names
        }
    for name, process in started.items():
        if process.stdout.readline() != b"ready\n":
            sys.exit(f"{name} could not be furnished")
        (Path(plan["folder"]) / "nodes" / name).write_text(str(process.pid))
        if plan["switch"] == "user":
            ask_switch(plan["control"], {"port": name, "pid": process.pid})
        else:
            # After a power cut the old cable's end may still be there for a moment.
            subprocess.run(["ip", "link", "del", f"p-{name}"], stderr=subprocess.DEVNULL)
            ip([f"link add p-{name} type veth peer name eth0 netns {process.pid}"])
            ip([f"link set p-{name} master br0 up"])
            ip([f"link set p-{name} {packets}"])
        # The card keeps its number through a power cut: others have it in mind.
        last = int(plan["nodes"][name].split(".")[-1])
        card = f"link set eth0 address 02:00:00:00:00:{last:02x} {packets}"
        addressed = f"addr add {plan['nodes'][name]}/24 dev eth0"
        ip([card, addressed, "link set eth0 up"], process.pid)


def ask_switch(control: str, request: dict[str, Any]) -> None:
    """Have the switch do something; its socket is a path, so it can be reached from anywhere."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(control)
        line.sendall(json.dumps(request).encode() + b"\n")
        if wrong := line.recv(1000).decode():
            raise OSError(wrong)


def ip(lines: list[str], process: int = 0) -> None:
    """Have the `ip` tool do all of these, in the network of a process."""
    entered = ["nsenter", "-t", str(process), "-n"] if process else []
    text = "\n".join(lines) + "\n"
    subprocess.run([*entered, "ip", "-batch", "-"], input=text, text=True, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
