"""Where settings come from, and which key goes where."""

from pathlib import Path

import pytest

from specchat.config import paths
from specchat.config.keys import choose_key
from specchat.config.last_server import recall, remember
from specchat.config.settings import Settings, load
from specchat.core.errors import ConfigurationError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_the_command_line_beats_the_environment_beats_the_file_beats_the_default(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('theme = "file"\nmodel = "file"\nurl = "file"\n')
    monkeypatch.setenv("SPECCHAT_MODEL", "environment")
    monkeypatch.setenv("SPECCHAT_URL", "environment")
    settings = load({"url": "typed"}, file)
    assert (settings.url, settings.model, settings.theme, settings.insecure) == ("typed", "environment", "file", False)


def test_an_unknown_key_names_the_file_and_the_nearest_valid_key(file: Path) -> None:
    file.write_text('modle = "x"\n')
    with pytest.raises(ConfigurationError) as raised:
        load({}, file)
    assert str(file) in str(raised.value)
    assert "model?" in str(raised.value)


@pytest.mark.parametrize(
    "text", ["temperature = 'hot'", "max_tokens = 0", "temperature = inf", "ca_file = ['x']", "openai_key_hosts = 5"]
)
def test_a_wrong_value_names_the_key_and_where_it_stands(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=rf"{text.split(maxsplit=1)[0]} in {file}"):
        load({}, file)


def test_a_file_that_is_no_toml_is_a_sentence(file: Path) -> None:
    file.write_bytes(b"\xff\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load({}, file)


def test_a_wrong_variable_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_SEED", "x")
    with pytest.raises(ConfigurationError, match="SPECCHAT_SEED"):
        load({}, file)


@pytest.mark.parametrize("written", ["gpu01,gpu02", " gpu01 , gpu02 ", '["gpu01", "gpu02"]'])
def test_hosts_in_the_environment_are_a_list_with_commas_or_as_in_the_file(
    written: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECCHAT_OPENAI_KEY_HOSTS", written)
    assert load({}, file).openai_key_hosts == ["gpu01", "gpu02"]


def test_an_empty_path_is_no_path(file: Path) -> None:
    file.write_text('api_key_file = ""\n')
    settings = load({"ca_file": Path(), "export_dir": Path()}, file)
    assert (settings.ca_file, settings.api_key_file, settings.export_dir) == (None, None, None)


def test_bytes_that_are_no_text_become_text_that_can_be_sent(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_SYSTEM", "caf\udce9")
    settings = load({"model": "m\udcff"}, file)
    assert (settings.system, settings.model) == ("caf\ufffd", "m\ufffd")


def test_a_settings_file_that_is_a_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{tmp_path} cannot be read: Is a directory\. Mend it"):
        load({}, tmp_path)


def test_openai_api_key_goes_only_to_confirmed_or_configured_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    assert choose_key(Settings(), "gpu01").key is None
    assert choose_key(Settings(), "gpu01").unsent_openai_key
    assert choose_key(Settings(), "gpu01", openai_key_confirmed=True).key == "sk-other"
    assert choose_key(Settings(openai_key_hosts=["GPU01"]), "gpu01").key == "sk-other"


def test_our_own_key_beats_openai_s_and_a_typed_file_beats_the_environment(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("SPECCHAT_API_KEY", "from-environment")
    (tmp_path / "key").write_text("from-file\n")
    assert choose_key(load({}, file), "h").key == "from-environment"
    assert choose_key(load({"api_key_file": tmp_path / "key"}, file), "h").key == "from-file"


def test_a_key_is_never_shown() -> None:
    settings = Settings(api_key="sk-secret")  # type: ignore[arg-type]
    assert "sk-secret" not in repr(settings)
    assert "sk-secret" not in repr(choose_key(settings, "h"))


@pytest.mark.parametrize("key", ["two words", "ключ", "line\nbreak"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        choose_key(Settings(api_key=key), "h")  # type: ignore[arg-type]
    assert key not in str(raised.value)


def test_a_missing_key_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"key file .* cannot be read: No such file or directory\. Name a file"
    ):
        choose_key(Settings(api_key_file=tmp_path / "none"), "h")


def test_the_last_server_is_remembered_and_rubbish_is_not(tmp_path: Path) -> None:
    file = tmp_path / "state" / "last.json"
    assert recall(file) is None
    remember(file, "http://h:1", "m")
    assert recall(file) == ("http://h:1", "m")
    file.write_text('["x"]')
    assert recall(file) is None


def test_directories_are_the_platform_s_and_asking_creates_nothing(tmp_path: Path) -> None:
    assert paths.config_file() == tmp_path / "config" / "specchat" / "config.toml"
    assert not paths.config_file().parent.exists()
