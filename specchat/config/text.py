"""Text that comes from outside the program, made such that it can be sent. Owns no setting."""


def readable(text: str) -> str:
    """The text with a replacement character for each byte that is no UTF-8.

    Such bytes of a command line or of the environment arrive as lone surrogates, which JSON cannot carry.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
