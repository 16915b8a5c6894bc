"""Many nodes: where they are, how a program gets onto them, and whether they are fit.

    ddl-teach cluster start hosts --ranks 8     ipyparallel engines on all nodes, as MPI ranks
    ddl-teach cluster check hosts               the doctor of nodes
    ddl-teach cluster stop hosts

Four grounds answer the same two questions, how to run words on one node and how to run ranks on
all: this laptop, the cluster in a box, hosts reached by ssh, an allocation of Slurm. Everything
else is written once for all of them.

=============== ==========================================================================
site            the notes that an instructor fills in once; how they reach sbatch
grounds         the four grounds
on_node         what one node says of itself; runs there
on_ranks        what MPI ranks on all nodes find out together; runs there
node_checks     the doctor of nodes: each finding with what to do about it
engines         ipyparallel's controller here and engines there, encrypted and authenticated;
                rank programs on those engines, as on a notebook's own
many_nodes      unit 20's ground: such engines, a box, or this machine
command         `ddl-teach cluster`
=============== ==========================================================================
"""
