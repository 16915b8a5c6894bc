# Notes to begin with: Ubuntu or Debian with their own Slurm (apt install slurm-wlm), and the MPI that
# comes with the course. Copy it over site.sh.
# The nodes must see this checkout and its .venv at one path (NFS), and agree on users and time.
SITE_PARTITION=
SITE_TIME=00:30:00
SITE_MPI=mpiexec
# As `ip address` calls the network between the nodes. Ubuntu's names follow the slot of the card: on
# machines of several makes they differ, and then leave it empty.
SITE_INTERFACE=
SITE_ENGINES=slurm
