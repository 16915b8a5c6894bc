"""Every picture of the course, from plain data.

=============== ===================================================================
style           one look: the style sheet, what each colour means, units, alt text
frame           what is around all data: axes, legends, the title that says what was found
curves          curves by what they are: predicted, simulated, measured
boxes           boxes in rows, and words in the middle of things
tables          tables as colours or numbers
timeline        what each rank did when: bars for a few ranks, an image for 65,536
trace           the same as a file for a trace viewer
messages        the time of single messages, and the line through it
staging         messages between devices: over chunk size and size; decisions; recorded runs
im2col          an image and the matrix of its patches
convolutions    time, operations and memory of convolutions over whatever is varied
method_map      which convolution wins where, over two things that are varied
winograd_error  what Winograd's tile costs in digits and saves in multiplications
micro_batches   the front of time and workspace; what limits make of a batch
split_layers    matrices cut over ranks, what layers send either way, times of several ways
spread          how far one bad pixel spreads, by method
algorithms      predicted, simulated and measured times laid over each other
winners         which algorithm wins where: the picture that sliders redraw
steps           who sent to whom in which step, and what each rank then held
step_player     the same with buttons; step_panels: all steps at once
operation_graph a small graph of operations by its levels
schedule        who does which operation when
work_depth      time over processors between its bounds; layers by work and depth
roofline        how fast each layer computes, below what the machine allows
staleness       how old gradients get, how large a step they bear, who waits behind a straggler
losses          loss against epochs, seconds and bytes
prediction      what somebody said beside what came out
progress        how far a learner has come
waits           who waits for whom in a deadlock
arrivals        who came first, turn by turn
activity        how the spans of a rank become one thing it does at a time
forms           what few entries of a gradient hold, training with fewer bytes, when it pays
nodes           ranks on their nodes and the cables between them; what these carried
validation      gradient checks over their step, rules that walk apart
population      who lost, whom they copied, and the schedule that came of it
checkpoints     what failures and saves cost, over the seconds between two saves
search          every trial of a search and what each worker does, while it runs
consolidation   what is made of several networks; the line between two of them
choices         who chooses which algorithm where, and what everybody regrets
peers           our times over those of peers, every case a dot
svg             drawings as text, where matplotlib would be too slow
=============== ===================================================================

A title states what there is to see; every axis names its unit; a picture carries a sentence for
those who cannot see it.
"""
