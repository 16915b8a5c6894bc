"""What tests of pictures read from them."""


def title(figure):
    """What the picture says it shows, of several panels above all of them."""
    return figure.get_suptitle() or figure.axes[0].get_title(loc="left")


def labels(figure):
    """The words of the first panel's legend, from the top."""
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
