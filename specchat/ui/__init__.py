"""The screen. The only package that imports Textual; it talks to a session and knows no server."""
