"""What answers on the usual ports is told for what it is, quickly, and without a proxy."""

import http.server
import json
import random
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from specchat_launcher.found import FoundServer, answering
from specchat_launcher.ports import free_port

Answers = Mapping[str, tuple[int, object]]


@contextmanager
def answering_with(answers: Answers) -> Iterator[int]:
    """A server with these answers; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, {}))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode() if isinstance(body, str) else json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


MODELS = {"data": [{"id": "m"}]}
VLLM: Answers = {"/v1/models": (200, MODELS), "/version": (200, {"version": "0.32.0"})}


def test_a_server_says_its_models_version_and_whether_it_speculates() -> None:
    counting = {**VLLM, "/metrics": (200, "vllm:num_requests_running 0\nvllm:spec_decode_num_drafts_total 3\n")}
    with answering_with(counting) as port:
        assert answering((port,)) == (FoundServer(f"http://127.0.0.1:{port}", port, ("m",), "0.32.0", True, False),)


@pytest.mark.parametrize(("metrics", "speculates"), [("vllm:num_requests_running 0\n", False), ("go_gc 3\n", None)])
def test_whether_it_speculates_is_left_open_where_nothing_counts(metrics: str, speculates: bool | None) -> None:
    with answering_with({**VLLM, "/metrics": (200, metrics)}) as port:
        assert answering((port,))[0].speculates is speculates


def test_a_server_that_wants_a_key_is_found_without_one() -> None:
    with answering_with({"/v1/models": (401, {"error": "Unauthorized"})}) as port:
        found = answering((port,))[0]
    assert found.key_needed
    assert found.models == ()


@pytest.mark.parametrize("body", ["<html>Jenkins</html>", "[]", '{"data": 3}', '{"models": []}', "\x00"])
def test_another_program_behind_a_port_is_no_server(body: str) -> None:
    with answering_with({"/v1/models": (200, body)}) as port:
        assert answering((port,)) == ()


def test_ports_that_are_silent_cost_one_time_out_together() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        ports = [held.getsockname()[1] for held in (first, second)]
        began = time.monotonic()
        assert answering((*ports, free_port(random.Random(1))), timeout_s=0.3) == ()
    assert time.monotonic() - began < 2


def test_a_proxy_of_the_user_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with answering_with(VLLM) as port:
        assert answering((port,))[0].models == ("m",)
