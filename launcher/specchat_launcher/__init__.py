"""Starts and stops local vLLM servers, each from an environment of its own.

Usable alone: the standard library only, nothing of specchat. Everything here blocks; call it from a thread.
"""

from specchat_launcher.engine_specs import DEFAULT_ENGINE, ENGINE_VERSIONS
from specchat_launcher.errors import LauncherError
from specchat_launcher.install import Engine, EngineStatus, install_engine, list_engines, remove_engine
from specchat_launcher.models import ModelFiles, prepare_models
from specchat_launcher.paths import data_directory
from specchat_launcher.profiles import Profile, load_profile, profile_names
from specchat_launcher.progress import Phase, Progress, Report
from specchat_launcher.server import RunningServer, start_profile

__all__ = [
    "DEFAULT_ENGINE",
    "ENGINE_VERSIONS",
    "Engine",
    "EngineStatus",
    "LauncherError",
    "ModelFiles",
    "Phase",
    "Profile",
    "Progress",
    "Report",
    "RunningServer",
    "data_directory",
    "install_engine",
    "list_engines",
    "load_profile",
    "prepare_models",
    "profile_names",
    "remove_engine",
    "start_profile",
]
