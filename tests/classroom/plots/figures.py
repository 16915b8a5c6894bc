"""What tests of pictures read from them, and what several of them draw."""

WHERE = {"row_quantity": "ranks", "column_quantity": "bytes of a vector"}
HALF = {"smallest": 2.0**-24, "smallest_normal": 2.0**-14, "largest": 65504.0}


def title(figure):
    """What the picture says it shows, of several panels above all of them."""
    return figure.get_suptitle() or figure.axes[0].get_title(loc="left")


def labels(figure):
    """The words of the first panel's legend, from the top."""
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
