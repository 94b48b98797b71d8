"""The standard streams and their width, made such that everything else can rely on them. Owns nothing written."""

import io
import os
import sys


def ready_streams() -> None:
    """Open closed standard streams on the null device, and let no character of an answer be too much for stdout.

    Python leaves None for a stream that the caller closed (`<&-`, `>&-`), and the next file that is opened would get
    its descriptor: a connection would then be taken for stdout by a child process. A COLUMNS or LINES of 0 stands for
    "unknown", and Rich would take it for a size.
    """
    for name in ("COLUMNS", "LINES"):
        if not os.environ.get(name, "1").strip("0 "):
            del os.environ[name]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, mode), encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
