"""The platform's directories for specchat, as functions that create nothing."""

import os
from pathlib import Path

import platformdirs

_APP = "specchat"


def config_file() -> Path:
    """The user's settings file: $SPECCHAT_CONFIG, else config.toml in the platform's configuration directory."""
    override = os.environ.get("SPECCHAT_CONFIG")
    return Path(override) if override else platformdirs.user_config_path(_APP) / "config.toml"


def last_server_file() -> Path:
    """Where the last server that was talked to is remembered."""
    return platformdirs.user_state_path(_APP) / "last-server.json"


def crash_directory() -> Path:
    """Where reports of errors of the program's own go."""
    return platformdirs.user_log_path(_APP)


def default_export_directory() -> Path:
    """Where exports go unless the user says otherwise: the folder that the app was started in."""
    return Path.cwd()


def comparisons_directory() -> Path:
    """Where a comparison keeps what it measured, unless the user says otherwise."""
    return platformdirs.user_data_path(_APP) / "comparisons"
