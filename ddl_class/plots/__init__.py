"""Every picture of the course, from plain data.

============= =====================================================================
frame         axes that say what they show and draw as the course does; titles, legends, boxes
curves        the looks of what is predicted, simulated, measured; colours
svg           drawings as text, where matplotlib would be too slow
messages      single messages, algorithms over sizes, who came first
staging       messages between devices, recorded runs, who has the bytes when
work_depth    graphs of operations, schedules, bounds, layers by work and depth
convolutions  time, operations, memory, errors; which method wins where
recurrences   turns over a grid of cells, chunks, sums and losses in short formats
networks      buckets, split layers, pipelines, grids of ranks
memory        time over workspace, what limits make of a batch; what a rank holds
large_batches steps and speed-up over the batch
staleness     how old gradients get and how large a step they bear; losses three ways
gossip        bytes at the busiest port, graphs of ranks, how far they are apart
forms         what few entries of a gradient hold, training with fewer bytes
searching     trials, populations, several networks; choices and their regrets
architectures cells, the front of all that were trained, two ways of scoring
search        every trial of a search and what each worker does, while it runs
honesty       panels that fool and that do not; checks of being right
many_nodes    ranks on their nodes and the cables between; what failures cost
steps         the steps of a collective as plain data
step_player   the same as a picture, and with buttons
winners       which algorithm wins where: the picture that sliders redraw
course        the map of the course, how far a learner has come, predictions
benchmarks    our times over those of peers, and rooflines
============= =====================================================================

A title states what there is to see; every axis names its unit; a picture carries a sentence for
those who cannot see it. The one look of all is `ddl_runtime.pictures.style`.
"""
