"""Where each character of a conversation goes on a screen of some width. No widgets, no colours."""
