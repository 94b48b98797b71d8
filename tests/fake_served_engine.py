"""Plays a vLLM server in two processes, front end and engine: deaf to SIGTERM while it starts, tidy at SIGINT.

Run as a script. `FAKE_STAY` names where it stays for good: `arguments`, `weights`, or nowhere; `FAKE_MODE=dies` ends
it with an error. As upstream, the engine outlives a front end that was killed.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import time

STAMP = "11-30 11:18:48"


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def say(line: str) -> None:
    print(line, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers like a vLLM server; a completion never ends."""

    model = ""
    key: str | None = None

    def do_GET(self) -> None:
        if self.path.startswith("/v1") and self.key and self.headers.get("Authorization") != f"Bearer {self.key}":
            self.answer(401, {"error": "Unauthorized"})
        elif self.path == "/v1/models":
            self.answer(200, {"data": [{"id": self.model}]})
        elif self.path == "/version":
            self.answer(200, {"version": "0.32.0"})
        elif self.path == "/metrics":
            self.answer(200, "vllm:spec_decode_num_drafts_total 1\n")
        else:
            self.answer(200, {})

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"data: {}\n\n")
            self.wfile.flush()
            time.sleep(0.05)

    def answer(self, status: int, body: object) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Ends with its requests unanswered, as vLLM does at an abort."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def main() -> int:
    stay = os.environ.get("FAKE_STAY", "")
    # Not ignored, which the engine would inherit.
    signal.signal(signal.SIGTERM, lambda *_: None)
    say(f"(APIServer pid=1) INFO {STAMP} [api_utils.py:286] non-default args: {{}}")
    if stay == "arguments":
        time.sleep(600)
    engine = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"])
    try:
        say(f"(EngineCore pid=2) INFO {STAMP} [core.py:121] Initializing a V1 LLM engine (v0.32.0) with config: {{}}")
        say(f"(EngineCore pid=2) INFO {STAMP} [gpu_model_runner.py:5309] Starting to load model tiny...")
        if os.environ.get("FAKE_MODE") == "dies":
            say(f"(EngineCore pid=2) ERROR {STAMP} [core.py:1] ValueError: No memory for the KV cache.")
            say("RuntimeError: Engine core initialization failed. See root cause above.")
            return 1
        if stay == "weights":
            time.sleep(600)
        Handler.model, Handler.key = option("--served-model-name"), os.environ.get("VLLM_API_KEY")
        server = Server((option("--host"), int(option("--port"))), Handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        say("INFO:     Application startup complete.")
        server.serve_forever()
    except KeyboardInterrupt:
        say("INFO:     Shutting down")
        return 130
    finally:
        engine.terminate()
        engine.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
