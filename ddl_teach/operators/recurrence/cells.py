"""The cells of a grid of layers and steps, in an order that keeps their two dependencies."""

from ddl_teach.theory.wavefront import fronts

Place = tuple[int, int]  # layer, step


def wavefront_cells(layers: int, steps: int) -> list[list[Place]]:
    """The wavefronts, each as the list of its cells (layer, step)."""
    numbered = enumerate(fronts(layers, steps))
    return [[(layer, front - layer) for layer in active] for front, active in numbered]
