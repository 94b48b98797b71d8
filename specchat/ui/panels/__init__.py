"""The figures beside the transcript: what they are and how they are drawn. No widgets."""
