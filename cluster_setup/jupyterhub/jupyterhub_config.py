"""JupyterHub for a class: each learner's notebook runs as a job of Slurm on a node.

    browser --TLS--> proxy and hub (login node) --TLS both ways--> notebook server (compute node)

`internal_ssl` makes the hub an authority of its own, which signs a certificate for each part; who
has none is not talked to. Nothing listens but at two addresses: that of `DDL_HUB_ADDRESS`, for
browsers, and that of SITE_INTERFACE, for nodes. Keys are files that only their owner can read;
keys and tokens reach a job by its environment, which Slurm keeps from other users, and by no
command line. Kernels talk by sockets in a private folder: by a port others could read along.
"""

import os
import subprocess
import sys
from pathlib import Path

from batchspawner import SlurmSpawner

SETUP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SETUP.parent))

from ddl_class.clusters.grounds import address_of, read_site  # noqa: E402

NOTES = os.environ.get("DDL_TEACH_SITE", SETUP / "site.sh")
SITE = read_site(Path(NOTES))
NODES = subprocess.run(
    ["sinfo", "--noheader", "--Node", "--format=%N"], capture_output=True, text=True, check=True
).stdout.split()
INSIDE = address_of(SITE.interface, NODES[:1])
PRIVATE = Path(os.environ.get("DDL_HUB_FOLDER", "/etc/jupyterhub"))  # of the hub's own user, 0700


class NodeSpawner(SlurmSpawner):
    """A notebook server as a job. Its key and certificates go with the job: root would not write
    safely into the home of a learner, whose links lead anywhere."""

    def move_certs(self, paths):
        """Their texts, which the job's environment takes; its first lines make files of them."""
        return {name: Path(path).read_text() for name, path in paths.items()}


c = get_config()  # noqa: F821

# -- where it listens -----------------------------------------------------------------------
c.JupyterHub.bind_url = f"https://{os.environ.get('DDL_HUB_ADDRESS', INSIDE)}:8443"
c.JupyterHub.ssl_cert = str(PRIVATE / "hub.crt")
c.JupyterHub.ssl_key = str(PRIVATE / "hub.key")
c.JupyterHub.hub_bind_url = f"https://{INSIDE}:8081"
c.JupyterHub.hub_connect_url = f"https://{INSIDE}:8081"
c.JupyterHub.internal_ssl = True
c.JupyterHub.internal_certs_location = str(PRIVATE / "certificates")
c.JupyterHub.trusted_alt_names = [f"IP:{INSIDE}"]
c.JupyterHub.cookie_secret_file = str(PRIVATE / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{PRIVATE}/jupyterhub.sqlite"
c.ConfigurableHTTPProxy.pid_file = str(PRIVATE / "proxy.pid")
c.Spawner.ssl_alt_names = [f"DNS:{node}" for node in sorted(set(NODES))]

# -- who may come ---------------------------------------------------------------------------
c.JupyterHub.authenticator_class = "pam"  # the cluster's own accounts
c.LocalAuthenticator.allowed_groups = {os.environ.get("DDL_HUB_GROUP", "ddl-class")}
c.JupyterHub.concurrent_spawn_limit = 20
c.JupyterHub.active_server_limit = 60

# -- what a learner gets --------------------------------------------------------------------
c.JupyterHub.spawner_class = NodeSpawner
if os.geteuid() == 0:  # others need `sudo`
    c.NodeSpawner.exec_prefix = "runuser --user {username} --"
c.Spawner.default_url = "/lab/tree/notebooks"
# What an instructor handed out there, or a checkout; else it gets the notebooks of this course.
c.Spawner.notebook_dir = "~/ddl-teach"
c.Spawner.start_timeout = 300  # a job may wait in the queue
c.Spawner.http_timeout = 120  # JupyterLab is read from a shared disk, by thirty at a time
c.NodeSpawner.req_partition = SITE.partition
c.NodeSpawner.req_account = SITE.account
c.NodeSpawner.req_qos = SITE.qos
c.NodeSpawner.req_runtime = SITE.time
c.NodeSpawner.req_nprocs = "4"  # cores: as many ranks run at the same time
c.NodeSpawner.req_memory = "8G"
c.NodeSpawner.req_prologue = f"""
export DDL_TEACH_COURSE={SETUP.parent} DDL_TEACH_SITE={NOTES}
. {SETUP}/slurm/begin.sh
umask 077
if [ ! -e ~/ddl-teach ]; then # the first time
    mkdir -p ~/ddl-teach/notebooks
    cp "$DDL_TEACH_COURSE"/notebooks/*.ipynb ~/ddl-teach/notebooks
fi
[ ! -O ~/ddl-teach ] || chmod go-rwx ~/ddl-teach # others do not read a learner's solutions
JUPYTER_RUNTIME_DIR=$(mktemp -d) || exit
trap 'rm -rf "$JUPYTER_RUNTIME_DIR"' EXIT
export JUPYTER_RUNTIME_DIR
for name in JUPYTERHUB_SSL_KEYFILE JUPYTERHUB_SSL_CERTFILE JUPYTERHUB_SSL_CLIENT_CA; do
    printenv "$name" >"$JUPYTER_RUNTIME_DIR/$name"
    export "$name=$JUPYTER_RUNTIME_DIR/$name"
done
"""
# A notebook server listens where its node's name leads, and not on the node's other networks.
c.NodeSpawner.batch_script = """#!/bin/bash
#SBATCH --output={{homedir}}/.jupyterhub-%j.log
#SBATCH --job-name=ddl-notebook
#SBATCH --chdir={{homedir}}
#SBATCH --export={{keepvars}}
#SBATCH --get-user-env=L
{% if partition %}#SBATCH --partition={{partition}}
{% endif %}{% if account %}#SBATCH --account={{account}}
{% endif %}{% if qos %}#SBATCH --qos={{qos}}
{% endif %}#SBATCH --time={{runtime}}
#SBATCH --mem={{memory}}
#SBATCH --nodes=1
#SBATCH --ntasks={{nprocs}}
{{prologue}}
{{cmd}} --ip="$(hostname)" --KernelManager.transport=ipc
"""
