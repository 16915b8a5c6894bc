"""Colours as numbers and as text: what moving pictures need, which matplotlib does not draw."""


def to_rgb(colour):
    if not isinstance(colour, str):
        return tuple(colour)
    if colour in ("white", "black"):
        return (float(colour == "white"),) * 3
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))


def to_hex(colour):
    return "#" + "".join(f"{round(part * 255):02x}" for part in to_rgb(colour))
