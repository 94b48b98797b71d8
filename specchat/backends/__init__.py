"""Adapters of `specchat.session.ports` to real servers: HTTP, its faults, and what each server calls things."""
