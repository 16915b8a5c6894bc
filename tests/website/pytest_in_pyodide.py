"""Runs tests of the simulator where this file runs: in Pyodide, with a stand-in for NumPy."""

import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ["/stand_in", "/project", "/pure"]
os.chdir("/project")
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

import pytest  # noqa: E402


class Marks:
    def pytest_configure(self, config):
        for mark in ("slow", "long", "real", "sampled(n)"):
            config.addinivalue_line("markers", mark)


OPTIONS = "--noconftest -c /dev/null --rootdir=/project -p no:cacheprovider -p no:faulthandler -q"
named = [*OPTIONS.split(), "--tb=short", "-m", "not long", *words]  # noqa: F821
pytest.main(named, plugins=[Marks()])
