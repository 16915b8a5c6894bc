"""The door at which ranks call: a key opens it, and strangers hold nobody up."""

import signal
import socket
import threading
import time
from multiprocessing import AuthenticationError

import pytest

from ddl_runtime.launcher import door
from ddl_runtime.launcher.door import Door, bytes_sent, call, is_far

KEY, OTHER = b"k" * 32, b"o" * 32
PATIENCE = 60.0  # seconds, on the busiest machine


@pytest.fixture(params=[None, "127.0.0.1"], ids=["folder", "network"])
def entrance(request, tmp_path):
    with Door(tmp_path, request.param, KEY) as made:
        yield made


def calling(address, key):
    """Call from another thread, as a rank would; the line comes into a list."""
    lines = []

    def work():
        try:
            line = call(address, key)
            line.send(("output", 7))
            lines.append(line)
        except (AuthenticationError, OSError, EOFError) as refused:
            lines.append(refused)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, lines


def test_who_knows_the_key_is_let_in(entrance):
    thread, lines = calling(entrance.address, KEY)
    assert entrance.knocked(PATIENCE)
    caller = entrance.let_in()
    thread.join()
    assert caller.name == "output"
    lines[0].send_bytes(b"words")
    assert caller.line_end.recv_bytes() == b"words"
    assert (caller.pid == 0) == entrance.far == is_far(entrance.address)
    for line in (caller.line_end, lines[0]):
        line.close()


def test_who_does_not_is_turned_away(entrance):
    thread, lines = calling(entrance.address, OTHER)
    assert entrance.let_in() is None
    thread.join()
    assert isinstance(lines[0], AuthenticationError | OSError | EOFError)


def test_who_says_nothing_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(door, "PROOF_LIMIT", 1)
    with Door(tmp_path, "127.0.0.1", KEY) as entrance:
        host, _, port = entrance.address.rpartition(":")
        with socket.create_connection((host, int(port))) as stranger:
            assert entrance.let_in() is None
            assert stranger.recv(1000)  # it was asked for a proof
            thread, lines = calling(entrance.address, KEY)
            entrance.let_in().line_end.close()
            thread.join()
            lines[0].close()


def test_a_line_that_is_written_on_sends_a_signal(tmp_path):
    came = []
    before = signal.signal(signal.SIGUSR2, lambda *_: came.append(True))
    try:
        with Door(tmp_path, "127.0.0.1", KEY) as entrance:
            thread, lines = calling(entrance.address, KEY)
            caller = entrance.let_in()
            thread.join()
            door.signal_when_written(lines[0], signal.SIGUSR2)
            assert not came
            caller.line_end.send_bytes(b"?")
            until = time.monotonic() + PATIENCE
            while not came:
                assert time.monotonic() < until
                time.sleep(0.01)
            caller.line_end.close()
            lines[0].close()
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_what_a_node_has_sent_is_counted_without_the_loopback(tmp_path):
    head = "Inter-|   Receive\n face |bytes\n"
    card = "{}: 5 0 0 0 0 0 0 0 {} 0 0 0 0 0 0 0\n"
    net = tmp_path / "dev"
    net.write_text(head + card.format("    lo", 100) + card.format("  eth0", 30))
    counters = tmp_path / "infiniband" / "mlx5_0" / "ports" / "1" / "counters"
    counters.mkdir(parents=True)
    (counters / "port_xmit_data").write_text("2\n")
    assert bytes_sent(net, tmp_path) == 30 + 4 * 2
