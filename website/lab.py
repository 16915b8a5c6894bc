"""The browser edition: JupyterLite, the notebooks, Pyodide with the course."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from website import edition, packages, pyodide
from website.tools import jupyterlite, run

FOLDER = "try"  # of the site
KERNEL = "@jupyterlite/pyodide-kernel-extension"
WIDGETS = "@jupyter-widgets/jupyterlab-manager"
PROGRESS = "/drive/your_progress"  # in the browser's own storage, as all of /drive


def build(distribution: Path, out: Path) -> None:
    """Make the folder `out`."""
    lite = jupyterlite()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "files").mkdir()
        for name in edition.names():
            text = edition.for_browsers(edition.ROOT / "notebooks" / f"{name}.ipynb")
            (folder / "files" / f"{name}.ipynb").write_text(text)
        pyodide.install(distribution, packages.wheels(), folder / "static" / "pyodide")
        (folder / "jupyter-lite.json").write_text(json.dumps(site_settings()))
        (folder / "jupyter_lite_config.json").write_text(json.dumps(build_settings(lite)))
        words = ["build", "--lite-dir", made, "--output-dir", str(out.resolve())]
        run(
            [sys.executable, "-m", "jupyterlite_core", *words],
            env=os.environ | {"PYTHONPATH": str(lite)}, cwd=made,
        )  # fmt: skip


def site_settings() -> dict[str, object]:
    """What the pages read."""
    environment = {"DDL_TEACH_DATA": PROGRESS}
    kernel = {"disablePyPIFallback": True, "loadPyodideOptions": {"env": environment}}
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "Distributed deep learning, in a browser",
            "exposeAppInBrowser": True,  # for our tests, and for whoever looks into it
            "litePluginSettings": {f"{KERNEL}:kernel": kernel},
        },
    }


def build_settings(lite: Path) -> dict[str, object]:
    """What the build reads: two extensions, and none of those that this environment has."""
    extensions = [
        str(lite / "share" / "jupyter" / "labextensions" / KERNEL),
        str(Path(sys.prefix) / "share" / "jupyter" / "labextensions" / WIDGETS),
    ]
    return {
        "LiteBuildConfig": {
            "apps": ["lab"], "contents": ["files"], "federated_extensions": extensions,
            "ignore_sys_prefix": ["federated_extensions"], "no_sourcemaps": True,
        }
    }  # fmt: skip
