"""Keeps conversations: what happened in them, in SQLite, found again by what was said. See docs/sessions-file.md."""
