"""What is really imported: static contracts cannot tell a deferred import from an eager one."""

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("textual", "openai", "pydantic", "httpx2", "prometheus_client", "rich")


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import specchat.cli", SLOW),
        ("import specchat.core.reply, specchat.core.reply_figures, specchat.core.overlay", (*SLOW, "asyncio")),
        ("import specchat.session.chat", SLOW),
        ("import specchat.exports", SLOW),
        ("import specchat_launcher", (*SLOW, "specchat", "typer", "platformdirs")),
        ("import specchat.ui.app", ("openai", "pydantic", "httpx2", "prometheus_client")),
        ("import specchat.backends.openai_compatible", ("openai", "textual", "prometheus_client")),
        # The screens' port to the launcher is made before the first frame; the launcher is loaded when it is asked.
        ("import specchat.backends.local_servers, specchat.ui.choosing", ("specchat_launcher", "openai", "textual")),
    ],
)
def test_importing_stays_light(statement: str, forbidden: tuple[str, ...]) -> None:
    assert not modules_after(statement) & set(forbidden)


def test_the_import_contracts_hold() -> None:
    # In a process of its own: import-linter configures logging, which switches off every logger that exists by then.
    code = "from importlinter import cli; raise SystemExit(cli.lint_imports(cache_dir=None))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
