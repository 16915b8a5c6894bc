# Notes to begin with: a Cray EX with its own MPI (Cray MPICH), which Slurm starts. Copy it over site.sh.
# The course's mpi4py must be built against that MPI, once, on a login node: see "The system's own MPI"
# in the README beside site.sh.
SITE_ACCOUNT=
SITE_CONSTRAINT=
SITE_TIME=00:30:00
SITE_MODULES="PrgEnv-gnu cray-mpich"
SITE_MPI="srun --mpi=cray_shasta"
SITE_INTERFACE=hsn0
SITE_ENGINES=slurm
