"""Measures the shapes of the public benchmark with the installed SDK and a demo: .cache/e2e-python/bin/python tests/e2e/shapes.py

The times are those of whole runs as clients see them, from the request to the result. The start of the parents' interpreters is
part of them."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import flyte
from flyte.models import ActionPhase

from flows import shapes
from server import Server


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fanout", type=int, default=6000, help="leaves of one parent; 0 leaves the shape out")
    options.add_argument("--chain", type=int, default=200, help="leaves, one after the other")
    options.add_argument("--swarm", type=int, default=2, help="parents with --each leaves")
    options.add_argument("--each", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=1)
    o = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shapes"))
    os.environ["HOME"] = str(folder)  # the SDK remembers there what it uploaded
    server = Server(folder)
    server.start()
    try:
        flyte.init(endpoint=server.endpoint, insecure=True, project="flytesnacks", domain="development",
                   root_dir=pathlib.Path(__file__).resolve().parent)
        measure("warm-up", shapes.chain, 1)
        for _ in range(o.rounds):
            if o.fanout:
                measure(f"fanout {o.fanout}", shapes.fanout, o.fanout)
            if o.chain:
                measure(f"chain {o.chain}", shapes.chain, o.chain)
            if o.swarm:
                measure(f"swarm {o.swarm} x {o.each}", shapes.swarm, o.swarm, o.each)
    finally:
        server.stop()


def measure(name: str, task, *arguments: int) -> None:
    began = time.monotonic()
    run = flyte.run(task, *arguments)
    run.wait(quiet=True)
    took = time.monotonic() - began
    if run.phase != ActionPhase.SUCCEEDED:
        raise RuntimeError(f"{name}: {run.phase} after {took:.1f} s: {run.action.details().error_info}")
    print(f"{name}: {took:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads of the client's HTTP library sometimes abort the interpreter while it exits
