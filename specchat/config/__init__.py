"""Settings: where they come from, and which value wins."""
