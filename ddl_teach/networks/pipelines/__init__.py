"""Pipelines: the layers are cut into stages, the batch into micro-batches that pass through them.

    instructions       the words of a schedule: forward, backward, send, receive, and a few more
    schedule           the instructions of each rank in order: plain data that prints itself
    naive              one micro-batch at a time
    gpipe              all forward, then all backward
    one_f_one_b        one forward, one backward: the same bubble, less memory
    interleaved        several thin stages a rank: a smaller bubble, more messages
    breadth_first      all micro-batches through one thin stage before the next
    zero_bubble        gradients of weights wait until there is nothing else to do
    interleaved_zero_bubble    both: thin stages, and gradients of weights that wait
    zb_v               thin stages in the shape of a V: no bubble with the memory of 1F1B
    dualpipe_v         in a V, a forward and a backward pass at once
    passes             an order of passes that counts the micro-batches
    message_driven     run whatever has arrived, up to a limit of micro-batches in flight
    gems               two replicas in opposite order
    messages           writes the sends and receives into an order of computation
    cells              the words of a schedule as texts
    schedule_file      reads and writes schedules in torch's format
    validator          refuses a schedule that would deadlock or use what it does not have
    worker             executes any schedule, on any ground
    torch_stage        a stage that computes
    training           ten lines that train a network with a schedule

Every schedule gives the gradients of the whole batch's mean loss: the same training as one
process. They differ in which ranks wait, and in what is kept meanwhile.
"""
