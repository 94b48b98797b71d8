"""The looks of Markdown in the transcript, from the colours of the theme."""

from specchat.ui.layout.markdown import MARKDOWN_STYLES
from specchat.ui.layout.turn import REPLACED

MARKDOWN_CLASSES = {f"transcript--{name}" for name in (*MARKDOWN_STYLES, REPLACED)}
"""Component classes of the transcript."""
MARKDOWN_CSS = """
Transcript {
    & .transcript--md-text { color: $foreground; }
    & .transcript--md-title { color: $primary; text-style: bold underline; }
    & .transcript--md-heading { color: $primary; text-style: bold; }
    & .transcript--md-strong { color: $foreground; text-style: bold; }
    & .transcript--md-emphasis { color: $foreground; text-style: italic; }
    & .transcript--md-strong-emphasis { color: $foreground; text-style: bold italic; }
    & .transcript--md-struck { color: $text-muted; text-style: strike; }
    & .transcript--md-link { color: $accent; text-style: underline; }
    & .transcript--md-address { color: $text-muted; }
    & .transcript--md-quote { color: $text-muted; text-style: italic; }
    & .transcript--md-rule { color: $text-muted; }
    & .transcript--md-bullet { color: $accent; }
}
"""
