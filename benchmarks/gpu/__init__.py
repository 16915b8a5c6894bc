"""What `on_a_gpu` and `device_messages` are made of: peers, parts, reports."""


def first_line(error: BaseException) -> str:
    """Of an error's text, or its type where it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
