"""A server's start as it happens, and why it fails, from nothing but its log.

Owns the reading of the logs of vLLM and its kin. Starts nothing, reads no file, and keeps a bounded part of a log.
"""

from specchat_launcher.startup.coarse import as_progress
from specchat_launcher.startup.findings import Diagnosis
from specchat_launcher.startup.health import AcceptanceLine, acceptance_health, read_acceptance
from specchat_launcher.startup.phases import TIMEOUTS, StartPhase
from specchat_launcher.startup.watching import StartState, StartWatcher, diagnose

__all__ = [
    "TIMEOUTS",
    "AcceptanceLine",
    "Diagnosis",
    "StartPhase",
    "StartState",
    "StartWatcher",
    "acceptance_health",
    "as_progress",
    "diagnose",
    "read_acceptance",
]
