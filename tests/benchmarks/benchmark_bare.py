"""A Textual application with one line of text, for the time that Textual itself needs to start."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Bare(App[None]):
    """Shows one line."""

    def compose(self) -> ComposeResult:
        yield Static("ready", markup=False)


if __name__ == "__main__":
    Bare().run()
