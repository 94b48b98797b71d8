"""The command line: arguments to calls of `specchat.wiring`. Each command imports what it needs when it runs."""

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run specchat and leave with its exit code.

    A failure that is the user's to know about is one sentence on stderr, with exit code 1.
    """
    if list(arguments if arguments is not None else sys.argv[1:]) == ["--version"]:
        # Answered before anything is imported, so that it is instant.
        from specchat import __version__

        print(f"specchat {__version__}")
        raise SystemExit(0)
    # What is imported stays: to look for garbage among it takes a good part of the start.
    gc.disable()
    from specchat.cli.commands import run

    gc.freeze()
    gc.enable()
    raise SystemExit(run(arguments))


if __name__ == "__main__":
    main()
