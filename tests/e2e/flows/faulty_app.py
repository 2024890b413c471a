"""A program that serves and can break, which the end-to-end tests of faults deploy as an app. Its port is its only argument. It
needs no more than the standard library, so that it starts at once."""

import http.server
import json
import os
import sys
import threading
import time

# The text with which it ends at once, and the file in whose presence it uses more memory than it may.
BROKEN, HUNGRY = os.environ.get("BROKEN"), os.environ.get("HUNGRY")
EATING = threading.Lock()


def eat() -> None:
    if HUNGRY and os.path.exists(HUNGRY):
        with EATING:  # once, not for each request
            held = b"x" * (300 << 20)
            time.sleep(600)  # until the node has seen it
            del held


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        eat()
        if self.path != "/":
            print(self.path.strip("/"), flush=True)
        self.answer("")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def answer(self, body: str) -> None:
        time.sleep(0.02)  # some requests are in flight at any moment
        text = json.dumps({"pid": os.getpid(), "port": int(sys.argv[1]), "version": os.environ.get("VERSION"), "body": body}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


class Program(http.server.ThreadingHTTPServer):
    request_queue_size = 100


if __name__ == "__main__":
    if BROKEN:
        sys.exit(BROKEN)
    eat()
    Program(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
