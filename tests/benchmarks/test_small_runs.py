"""Benchmarks of slow links and runtimes go from end to end with `--small`, and keep nothing."""

import sys

import pytest

from benchmarks import runtimes, slow_links

pytestmark = pytest.mark.slow


def printed(module, capsys, monkeypatch, *words):
    """What its program prints, after which its recorded results are as before."""
    before = module.RESULTS.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [module.__name__, *words])
    module.main()
    assert module.RESULTS.read_text(encoding="utf-8") == before
    return capsys.readouterr().out


def test_all_ways_over_slow_links(capsys, monkeypatch):
    monkeypatch.setattr(slow_links, "WAYS", dict(slow_links.WAYS))
    shown = printed(slow_links, capsys, monkeypatch, "--small")
    titles = [line for line in shown.splitlines() if line in slow_links.WAYS]
    assert titles == list(slow_links.WAYS)
    assert {steps for _, _, steps, _ in slow_links.WAYS.values()} == {10}
    assert shown.count("    best: 0.005 (0.7, 0.9) loss ") == len(slow_links.WAYS)


def test_a_way_that_is_not_there_is_named(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["slow_links", "DiLoCo 51"])
    with pytest.raises(SystemExit):
        slow_links.main()
    assert "no way is called DiLoCo 51: take one of every step" in capsys.readouterr().err


def test_runtimes_side_by_side(capsys, monkeypatch):
    shown = printed(runtimes, capsys, monkeypatch, "--small")
    wanted = ["MPI", "gloo", *["gRPC"] * runtimes.has_grpc()]
    for name in wanted:
        assert shown.count(f"ring over {name} ") == shown.count(f"server over {name} ") == 2
    assert ("gRPC" in shown) == runtimes.has_grpc()
