"""Many nodes: where they are, how a program gets onto them, and whether they are fit.

    ddl-teach cluster start hosts --ranks 8     ipyparallel engines on all nodes, as MPI ranks
    ddl-teach cluster check hosts               the doctor of nodes
    ddl-teach cluster stop hosts

Four grounds answer the same two questions, how to run words on one node and how to run ranks on
all: this laptop, the cluster in a box, hosts reached by ssh, an allocation of Slurm. Everything
else is written once for all of them.
"""
