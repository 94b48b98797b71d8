"""The parts of a screen: each takes values in and posts messages out."""
