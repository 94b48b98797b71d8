"""A terminal chat that shows speculative decoding at work, token by token."""

__version__ = "0.1.0"
