# How every batch script of the course begins:
#     . "${DDL_TEACH_COURSE:?submit this by cluster_setup/slurm/submit}/cluster_setup/slurm/begin.sh"
# Afterwards `python` is the course's, and `$SITE_MPI` in front of it starts ranks on all nodes.
. "${DDL_TEACH_SITE:-$DDL_TEACH_COURSE/cluster_setup/site.sh}"
if [ -n "$SITE_MODULES" ]; then
    # `module` is a function. A login shell knows it, the plain sh of a batch script does not.
    for file in "$SITE_MODULEFILE" "$MODULESHOME/init/sh" "$LMOD_PKG/init/sh" \
        /usr/share/modules/init/sh /usr/share/lmod/lmod/init/sh \
        /etc/profile.d/modules.sh /etc/profile.d/lmod.sh; do
        if command -v module >/dev/null; then break; fi
        if [ -r "$file" ]; then . "$file"; fi
    done
    if ! command -v module >/dev/null; then
        echo "$(hostname): no \`module\` here for SITE_MODULES=\"$SITE_MODULES\"." \
            "Name the file that defines it as SITE_MODULEFILE in site.sh." >&2
        exit 1
    fi
    if ! module load $SITE_MODULES; then # several words: no quotation marks
        echo "$(hostname): \`module load $SITE_MODULES\` failed. Mend SITE_MODULES in site.sh." >&2
        exit 1
    fi
fi
: "${SITE_MPI:=mpiexec}" "${SITE_PYTHON:=$DDL_TEACH_COURSE/.venv/bin/python}"
if [ ! -x "$SITE_PYTHON" ]; then
    echo "$(hostname): there is no $SITE_PYTHON. Run start.py once, or mend SITE_PYTHON in site.sh." >&2
    exit 1
fi
PATH=$(dirname "$SITE_PYTHON"):$PATH
PYTHONPATH=$DDL_TEACH_COURSE${PYTHONPATH:+:$PYTHONPATH}
export PATH PYTHONPATH
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}" # a rank takes no more threads than it has cores
export PMIX_MCA_psec=native # the wheel's PMIx has no MUNGE and would say so on every rank
if [ -n "$SITE_INTERFACE" ]; then
    export OMPI_MCA_btl_tcp_if_include="$SITE_INTERFACE" PRTE_MCA_prte_if_include="$SITE_INTERFACE"
    export HYDRA_IFACE="$SITE_INTERFACE" GLOO_SOCKET_IFNAME="$SITE_INTERFACE"
    export NCCL_SOCKET_IFNAME="$SITE_INTERFACE"
fi
if [ "${SITE_MPI%% *}" != srun ]; then
    # A variable of Slurm that would make MPICH's mpiexec take its ranks for srun's.
    export SLURM_MPI_TYPE=none
    PATH=$DDL_TEACH_COURSE/cluster_setup/slurm/bin:$PATH # an srun that ends with its step
fi
