"""Shows a reply on stdout while it grows: in the colours of origin on a terminal, as plain text in a pipe."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from specchat.core.harmless import harmless
from specchat.core.reply import Reply
from specchat.core.speculation import Channel, Origin
from specchat.theming import Theme, depth_of, look_of

_TARGET_S_OWN = {Origin.CORRECTION, Origin.BONUS}
"""Origins of the token that ends a step: what was rejected stood at its place."""


class PlainReply:
    """The answer as text, each part once it is there. Control characters are shown as visible stand-ins."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._written = 0
        self._ends_with_newline = True

    def __enter__(self) -> Self:
        return self

    def update(self, reply: Reply) -> None:
        """Write what is new."""
        text = reply.text
        new, self._written = text[self._written :], len(text)
        if new:
            encoding = self._out.encoding or "utf-8"
            self._out.write(harmless(new).encode(encoding, "replace").decode(encoding))
            self._out.flush()
            self._ends_with_newline = new.endswith("\n")

    def __exit__(self, *_: object) -> None:
        if not self._ends_with_newline:
            self._out.write("\n")
        self._out.flush()


class LiveReply:
    """The reply in colour: its tail while it grows, then the whole in its final colours."""

    def __init__(self, out: TextIO, theme: Theme, *, proposals: bool = False) -> None:
        """Draw nothing yet.

        Args:
            out: The terminal.
            theme: Gives the colours.
            proposals: Show rejected proposals too?
        """
        self._proposals = proposals
        self._console = Console(file=out)
        depth = depth_of(self._console.color_system, no_color=self._console.no_color)
        self._styles = origin_styles(theme.at(depth))
        self._live = Live(console=self._console, refresh_per_second=12, transient=True, vertical_overflow="crop")
        self._reply: Reply | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def update(self, reply: Reply) -> None:
        """Show the reply as it stands now."""
        self._reply = reply
        self._live.update(self._tail(self._drawn(reply)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        if self._reply is not None:
            self._console.print(self._drawn(self._reply))

    def _drawn(self, reply: Reply) -> Text:
        return coloured(reply, self._styles, proposals=self._proposals)

    def _tail(self, text: Text) -> Text:
        """As many of the last lines as the terminal shows; a taller live region could not be erased."""
        lines = text.wrap(self._console, self._console.width)
        return Text("\n").join(lines[-max(1, self._console.height - 2) :])


def origin_styles(theme: Theme) -> dict[str, str]:
    """Rich styles by the name of a look. A theme chooses them anew each time that it is asked, which takes long."""
    return {name: look.style for name, look in theme.looks.items()}


def coloured(reply: Reply, styles: Mapping[str, str], *, proposals: bool = False) -> Text:
    """The reply's text, each token in the style of its origin.

    Args:
        reply: As it stands.
        styles: Of `origin_styles`.
        proposals: Put what each step's draft proposed in vain, struck through, before the target's own word.
    """
    text = Text()
    channel: Channel | None = None
    for token in reply.tokens:
        if proposals and token.label.origin in _TARGET_S_OWN and token.label.step is not None:
            text.append(_rejected(reply, token.label.step), "strike dim")
        if token.channel is Channel.TOOL or not token.text:
            continue
        if channel is not None and channel is not token.channel:
            text.append("\n\n")
        channel = token.channel
        style = styles[look_of(token.label)]
        text.append(harmless(token.text).expandtabs(4), f"{style} dim" if channel is Channel.REASONING else style)
    return text


def _rejected(reply: Reply, step: int) -> str:
    """The texts of a step's rejected proposals on one line; an id whose text nobody told stands as a number."""
    texts = ((reply.text_of_proposal(token_id), token_id) for token_id in reply.steps[step].rejected)
    told = "".join(f"<{token_id}>" if text is None else text for text, token_id in texts)
    return harmless(told.replace("\n", "⏎").replace("\t", "⇥"))
