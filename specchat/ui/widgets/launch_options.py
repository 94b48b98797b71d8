"""The options of a start that can be edited: port, engine, and further keys of the profile."""

from textual import getters
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from specchat.ui.widgets.sturdy_text_area import SturdyTextArea


class LaunchOptions(Vertical):
    """Fields that are empty leave the choice to the profile."""

    DEFAULT_CSS = """
    LaunchOptions {
        height: auto;
        padding: 0 1;
        & Horizontal { height: 1; }
        & #set-row { height: 3; margin-bottom: 1; }
        & Static { width: 9; color: $text-muted; }
        & Input { width: 1fr; }
        & Input, & Input:ansi { background: $surface; color: $foreground; }
        & Input:focus { background: $panel; }
        & TextArea { width: 1fr; height: 3; border: none; padding: 0; background: $surface; }
        & TextArea:focus { background: $panel; border: none; }
    }
    """
    port = getters.query_one("#option-port", Input)
    engine = getters.query_one("#option-engine", Input)
    more = getters.query_one("#option-set", SturdyTextArea)

    def compose(self) -> ComposeResult:
        """One row for each."""
        with Horizontal():
            yield Static("port", markup=False)
            yield _field("option-port", "a free one, or the profile's")
        with Horizontal():
            yield Static("engine", markup=False)
            yield _field("option-engine", "the profile's")
        with Horizontal(id="set-row"):
            yield Static("--set", markup=False)
            more = SturdyTextArea(id="option-set", compact=True, show_line_numbers=False, tab_behavior="focus")
            more.placeholder = "key=value, one a line, such as\narguments.max-model-len=12288"
            more.set_reactive(SturdyTextArea.cursor_blink, False)
            yield more

    @property
    def changes(self) -> tuple[str, ...]:
        """What is asked for over the profile's own, as `key=value` each."""
        if not self.is_mounted:
            return ()
        named = (("port", self.port.value.strip()), ("engine", self.engine.value.strip()))
        more = (row.strip() for row in self.more.text.splitlines())
        return (*(f"{name}={value}" for name, value in named if value), *(row for row in more if row))


def _field(name: str, placeholder: str) -> Input:
    made = Input(id=name, compact=True, placeholder=placeholder)
    made.set_reactive(Input.cursor_blink, False)  # as in the prompt
    return made
