"""Names and numbers as people write them: times, sizes and rates with their units."""

from collections.abc import Callable, Iterable, Sequence

SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def spoken(name: str, first: bool = False) -> str:
    """An algorithm's name as people write it, `first` in its sentence or not.

    >>> spoken("recursive_doubling"), spoken("rabenseifner"), spoken("ring", first=True)
    ('recursive doubling', 'Rabenseifner', 'Ring')
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:] if first or name == "rabenseifner" else words


def time_unit(seconds: float) -> tuple[float, str]:
    """How many of which unit make a second, so that `seconds` becomes a number people read.

    >>> time_unit(0.0003)
    (1000000.0, 'µs')
    """
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return factor, name
    return 1e9, "ns"


def time_text(seconds: float) -> str:
    """A time with its unit in three digits.

    >>> time_text(0.00031416), time_text(0)
    ('314 µs', '0 s')
    """
    if seconds == 0:
        return "0 s"
    factor, name = time_unit(seconds)
    return f"{_three_digits(seconds * factor)} {name}"


def count_in_short(number: float) -> str:
    """A count in three digits, in powers of 1000.

    >>> count_in_short(130_000_000), count_in_short(20)
    ('130 M', '20')
    """
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def size_unit(nbytes: float) -> tuple[float, str]:
    """How many bytes one of which unit has, so that `nbytes` becomes a number people read.

    >>> size_unit(3_000_000)
    (1048576, 'MiB')
    """
    power = sum(nbytes >= 1024**k for k in range(1, len(SIZES)))
    return 1024**power, SIZES[power]


def size_text(nbytes: float) -> str:
    """A number of bytes with its unit, in powers of 1024.

    >>> size_text(65536), size_text(100)
    ('64 KiB', '100 B')
    """
    return _with_unit(nbytes, SIZES, 1024, 1024)


def rate_text(bytes_per_second: float) -> str:
    """A bandwidth with its unit, in powers of 1000 as networks are sold.

    >>> rate_text(12.5e9), rate_text(300)
    ('12.5 GB/s', '300 B/s')
    """
    return _with_unit(bytes_per_second, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"), 1000, 999.5)


def span(numbers: Iterable[float], text: Callable[[float], str]) -> str:
    """Text for the range from the least to the largest number; one number if both look alike.

    >>> span([65536, 1024, 4096], size_text), span([1024], size_text)
    ('1 KiB to 64 KiB', '1 KiB')
    """
    values = [*numbers]
    return " to ".join(dict.fromkeys(map(text, (min(values), max(values)))))


def _with_unit(number: float, units: Sequence[str], step: float, below: float) -> str:
    """The number with the first of the units in which it is less than `below`; each unit is `step`
    times the one before."""
    for unit in units:
        if number < below or unit == units[-1]:
            break
        number /= step
    return f"{_three_digits(number)} {unit}"


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
