"""Two processes that work as one, each in a pod of its own: `flyte-binary demo --with jobset`, then `flyte run examples/clustered.py main`.

The processes use JAX if it is installed (`pip install jax`). The first one returns the result.
"""

import os
import socket
import time

import flyte
from flyte.clustered import ClusteredTaskEnvironment, JaxRun

env = ClusteredTaskEnvironment(name="clustered", replicas=2, nproc_per_node=1, runtime=JaxRun(), resources=flyte.Resources(cpu="500m", memory="500Mi"))


@env.task
def main(seconds: int = 60) -> str:
    """The second process connects to the first one, at the address that all processes know."""
    rank, first, port = os.environ["RANK"], os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    print(f"process {rank} of {os.environ['WORLD_SIZE']}")
    if rank != "0":
        for _ in range(seconds):
            try:
                with socket.create_connection((first, port), timeout=1) as to:
                    to.sendall(f"hello from process {rank}".encode())
                return ""
            except OSError:  # it does not listen yet
                time.sleep(1)
        raise TimeoutError(f"nobody listens at {first}")
    with socket.create_server(("", port)) as server:
        server.settimeout(seconds)
        peer, address = server.accept()
        with peer:
            return f"{peer.recv(100).decode()} at {address[0]}"
