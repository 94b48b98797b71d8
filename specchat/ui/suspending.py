"""Gives the terminal back to the shell, where there is one that could bring the app back."""

import os
import signal
import sys

from textual.app import App


def suspend(app: App[None]) -> None:
    """Stop the whole job until the shell says `fg`."""
    if sys.platform == "win32" or app.is_headless:
        return
    if os.getsid(0) == os.getpgrp():
        app.notify("There is no shell to go back to: nothing could bring the chat back.", severity="warning")
        return
    app.app_suspend_signal.publish(app)
    # The whole job, or whoever started us in the shell's name, such as a script, would wait for us for ever.
    os.kill(0, signal.SIGTSTP)
