"""The style sheet of the race screen. Colours are the theme's."""

RACE_CSS = """
RaceScreen {
    layout: vertical;
    background: $background;
    & #race-head { background: $surface; }
    & #race-columns { height: 1fr; margin-top: 1; }
    & .race-column { width: 1fr; height: 1fr; }
    & .race-column.-off { border-left: solid $border-blurred; }
    & Transcript { height: 1fr; }
    & #race-bars { height: 2; margin-top: 1; }
    & #race-verdict { height: auto; max-height: 45%; min-height: 2; border-top: solid $border-blurred; }
    & Footer { background: $background; }
}
"""
