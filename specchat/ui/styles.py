"""Names of everything in the transcript that has a look of its own. The looks are in the theme and the style sheet."""

from specchat.core.speculation import Label
from specchat.theming import LOOKS, look_of

ROLES = ("you", "assistant", "prompt", "channel", "facts", "note", "stopped", "error")
"""What the transcript shows besides tokens."""
THINKING = "thinking/"
"""Put before the look of an origin for a token of the thinking, which is drawn dimmer."""
MARK = "mark-"
"""Put before the name of a mark."""
PROPOSAL = "proposal-"
"""Put before the name of a look of what was proposed and not kept."""
CODE = "code"
"""Code in the Markdown view."""

_THOUGHT = {look: THINKING + look for look in LOOKS}


def style_of(label: Label, *, thinking: bool = False) -> str:
    """The name of a token's style."""
    look = look_of(label)
    return _THOUGHT[look] if thinking else look
