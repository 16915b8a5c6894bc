# Notes to begin with: nodes that reach nothing outside. Copy it over site.sh.
# The course asks for the network only while it is installed: run `python3 start.py` once on a login
# node, in a checkout on a file system that all nodes see. If the login node has no network either,
# fill a folder where there is one (same system, same Python), and bring it over:
#     python3 -m pip download -d wheels -r requirements.lock
#     python3 -m venv .venv
#     .venv/bin/python -m pip install --no-index --find-links wheels -r requirements.lock
# The data of the exercises are files of the packages: nothing is fetched in class.
SITE_PARTITION=
SITE_TIME=00:30:00
SITE_MPI=mpiexec
SITE_ENGINES=slurm
