"""A chat with a fault of its own, which the command line names: run as a program by the tests of crashes."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.text import Text

from specchat import wiring
from specchat.ui.app import ChatApp
from specchat.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "a-key-in-a-variable"


def fail() -> NoReturn:
    key = SECRET
    assert key
    raise LookupError("the words hi there were not found")


async def fail_later() -> None:
    await asyncio.sleep(0)
    fail()


class CrashingApp(ChatApp):
    """Breaks when it stands, in the way that `fault` says."""

    fault = ""
    # Textual looks for a relative path beside the subclass.
    CSS_PATH = str(Path(sys.modules[ChatApp.__module__].__file__ or "").parent / "screens" / "chat.tcss")

    def on_mount(self) -> None:
        faults: dict[str, Callable[[], object]] = {
            "worker": lambda: self.run_worker(fail_later()),
            "render": self._break_rendering,
            "handler": lambda: self.call_later(fail),
            "timer": lambda: self.set_timer(0.01, fail),
            "loop": lambda: asyncio.get_running_loop().call_soon(fail),
            "thread": threading.Thread(target=fail).start,
        }
        self.set_timer(0.5, faults[self.fault])

    def _break_rendering(self) -> None:
        def render(_: LinesWidget) -> Text:
            fail()

        vars_of_class: Callable[[type, str, object], None] = setattr
        vars_of_class(LinesWidget, "render", render)
        self.screen.query_one("#legend", LinesWidget).refresh()


if __name__ == "__main__":
    CrashingApp.fault = sys.argv[1]
    sys.modules["specchat.ui.app"].__dict__["ChatApp"] = CrashingApp
    raise SystemExit(asyncio.run(wiring.run_app(wiring.connection_from({"url": sys.argv[2]}))))
