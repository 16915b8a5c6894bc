"""Real ranks behind a notebook: MPI processes that keep their variables from cell to cell.

    engines = Engines(4)          four ranks start; each knows comm, np and the course's names
    %%px                          this cell runs on every rank
    engines.run(program)          a whole rank program, as `launch` runs it
    engines.client[:]             the same ranks by ipyparallel's client and views

Each engine is a process that `mpiexec` has started, with an IPython shell inside and two lines
back to the notebook: one for what it prints, one for orders and reports. No other process can
reach it, and when the notebook is gone, so is the engine. Every cell has a time limit; a cell that
hangs or fails ends with a diagnosis: which rank waited where, or raised first. And the engines go
on.
"""
