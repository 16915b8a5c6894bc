# slurm.sh FOLDER: Slurm's part of this host, the head or a node, and MUNGE, by which they trust
# each other. Both become daemons, and end with the host.
set -e
mkdir -p -m 755 /run/munge /run/slurm
munged --force --key-file="$1/munge.key" --socket=/run/munge/munge.socket.2 \
    --pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed
case $(hostname) in
head) exec slurmctld ;;
*) exec slurmd ;;
esac
