"""Comparing replies with and without speculation: the plan, what is measured, and what may be said of it."""
