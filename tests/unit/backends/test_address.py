import pytest

from specchat.backends.address import Address
from specchat.core.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "api", "root"),
    [
        ("gpu01:8000", "http://gpu01:8000/v1", "http://gpu01:8000"),
        ("http://gpu01:8000/", "http://gpu01:8000/v1", "http://gpu01:8000"),
        ("http://gpu01:8000/v1", "http://gpu01:8000/v1", "http://gpu01:8000"),
        ("http://gpu01:8000/v1/", "http://gpu01:8000/v1", "http://gpu01:8000"),
        ("https://h/v1/chat/completions", "https://h/v1", "https://h"),
        ("http://h/v1/models", "http://h/v1", "http://h"),
        ("http://h:12434/engines/v1", "http://h:12434/engines/v1", "http://h:12434/engines"),
        ("http://h/prefix", "http://h/prefix/v1", "http://h/prefix"),
        ("http://h/api/v3", "http://h/api/v3", "http://h/api"),
        ("[::1]:8000", "http://[::1]:8000/v1", "http://[::1]:8000"),
        ("::1", "http://[::1]/v1", "http://[::1]"),
        ("  HTTP://Host//v1 ", "http://host/v1", "http://host"),
        ("http://h/v1#part", "http://h/v1", "http://h"),
    ],
)
def test_an_address_is_understood_however_it_is_written(text: str, api: str, root: str) -> None:
    address = Address.parse(text)
    assert address.api_url == api
    assert address.root_url == str(address) == root


@pytest.mark.parametrize(
    "text", ["", "http://", "ftp://h", "http://h:99999", "http://a b/", "http://h:port", "unix:///x"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Address.parse(text)
    assert "http://gpu01:8000" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["http://me:secret@h:8000/v1", "me:secret@h", "https://secret@h", "http://h/?key=secret"]
)
def test_secrets_in_an_address_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Address.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("localhost:1", True),
        ("127.0.0.9", True),
        ("[::1]", True),
        ("0.0.0.0:8000", True),
        ("a.localhost", True),
        ("localhost.example", False),
        ("10.0.0.1", False),
        ("gpu01", False),
    ],
)
def test_this_machine_is_known_by_its_names(text: str, here: bool) -> None:
    assert Address.parse(text).is_loopback is here
