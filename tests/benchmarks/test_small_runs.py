"""Benchmarks of slow links, runtimes and sparse sums go from end to end, and keep nothing."""

import re
import sys

import pytest

from benchmarks import runtimes, slow_links, slow_links_to_the_end, sparse_allreduce
from ddl_teach import simulate
from ddl_teach.training.trainer import train
from tests.boxes import box_or_skip

pytestmark = pytest.mark.slow


def printed(module, capsys, monkeypatch, *words):
    """What its program prints, after which its recorded results are as before."""
    before = module.RESULTS.exists() and module.RESULTS.read_bytes()
    monkeypatch.setattr(sys, "argv", [module.__name__, *words])
    module.main()
    assert (module.RESULTS.exists() and module.RESULTS.read_bytes()) == before
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


def test_sparse_all_reduces_side_by_side(monkeypatch, tmp_path):
    monkeypatch.setattr(sparse_allreduce, "RESULTS", tmp_path / "results.txt")
    words = ["--ranks", "2", "--repetitions", "3", "--size", "10000"]
    monkeypatch.setattr(sys, "argv", ["sparse_allreduce", *words])
    sparse_allreduce.main()
    shown = (tmp_path / "results.txt").read_text()
    assert shown.count("4 bits second phase") == shown.count("ring, dense") > 0


@pytest.mark.box
@pytest.mark.long
def test_one_site_and_four_to_the_end(capsys, monkeypatch):
    box_or_skip("before-sites", nodes=4, rate="100mbit", delay="50ms").down()
    shown = printed(slow_links_to_the_end, capsys, monkeypatch, "--small")
    rows = r"^(one site|four sites) +seed 1 +[\d.]+ s  loss ([\d.]+)  sent +([\d,]+) B$"
    lines = re.findall(rows, shown.split("\n\n")[-1], re.MULTILINE)
    assert [where for where, *_ in lines] == ["one site", "four sites"]
    for name, (_, loss, _) in zip(slow_links_to_the_end.SEARCHED, lines, strict=True):
        assert float(loss) == pytest.approx(simulated_loss(name), abs=2e-4)
    each_step, one_round = (int(sent.replace(",", "")) for *_, sent in lines)
    assert each_step == 10 * 6 * 29_696  # each weight: 4 bytes, three quarters out, and in again
    assert each_step / one_round == pytest.approx(10 * 32 / 4.5, rel=0.01)


def simulated_loss(name):
    """The same ten steps on simulated ranks."""
    given = slow_links.settings(
        name, *slow_links.best_rates(slow_links_to_the_end.SEARCHED[name], slow_links.RESULTS)
    )
    run = simulate(train, 4, task=slow_links.task(1), trace=False, **given | {"steps": 10})
    return slow_links.task(1).loss(run.results[0].weights)
