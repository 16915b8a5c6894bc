"""One grid of ranks: data x pipeline x tensor x context, in any mix.

    axes      a rank's place in the grid, and a communicator for each axis
    stages    what a rank holds: its layers, split over tensor, its positions over context
    trainer   training on any grid

Nothing here is new. A pipeline's worker runs stages whose layers are split over tensor, whose
attention goes round context, and whose gradients are averaged over data: four communicators, and
no part knows of another.
"""
