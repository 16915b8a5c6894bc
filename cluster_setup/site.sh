# What differs from site to site. An instructor fills it in once; every batch script, the launchers
# and the doctor of nodes read it. What stays empty is left to the scheduler's own default.
# Lines NAME=value: a value with blanks in quotation marks, nothing else (no secrets: all can read it).
# `sites/` has notes to begin with. Notes that stand elsewhere are named by DDL_TEACH_SITE.

# -- Slurm: what `sinfo` and `sacctmgr show assoc user=$USER` list ---------------------------------
SITE_PARTITION=
SITE_ACCOUNT=
SITE_QOS=
SITE_RESERVATION=
SITE_CONSTRAINT=
SITE_GRES=
# A run that is longer than SITE_TIME, or that is pre-empted, goes on in a next job: slurm/long.sbatch.
SITE_TIME=00:30:00

# GPUs to ask for on each node of a job; 0 for none.
SITE_GPUS=0

# Environment modules, as typed after `module load`. Only if Python or MPI come by them.
SITE_MODULES=""
# The shell file that defines `module`, if a batch script does not find it.
SITE_MODULEFILE=

# The Python of the course, at the same path on every node; empty: .venv/bin/python in this checkout.
SITE_PYTHON=

# What starts MPI ranks on all nodes of a job. `mpiexec` suits the MPI that comes with the course.
# Others: "srun --mpi=pmix" (Open MPI), "srun --mpi=pmi2" (MPICH), "srun --mpi=cray_shasta" (Cray).
# Never --mpi=none: each rank then believes to be alone, silently.
SITE_MPI=mpiexec

# The network between the nodes, as `ip address` calls it (eth0, ib0, hsn0); empty: MPI chooses.
SITE_INTERFACE=

# -- The engines of all notebooks ------------------------------------------------------------------
# Where Engines(...) start: laptop (or empty): on the notebook's own machine; slurm: as a job of their
# own; job: on the nodes of the job that the notebook runs in; hosts: by ssh; box.
SITE_ENGINES=
# How many of them on a node of a job (0: as Slurm likes), and how long to wait for them, in seconds.
SITE_PERNODE=0
SITE_WAIT=600
# For hosts: the file that lists them.
SITE_HOSTFILE=
