"""In a cluster, services and pods have names. The demo's node gives them none, and all its pods have one address: this makes such a
name mean that address in every Python process of the test's environment."""

import os
import re
import socket
import sys

NAME = re.compile(r"\b[a-z0-9][a-z0-9.-]*\.svc(?:\.cluster\.local)?\b")
# What the training operator gives its pods is the bare name of a service.
BARE = ("PET_RDZV_ENDPOINT", "MASTER_ADDR", "PET_MASTER_ADDR")
ADDRESS = "127.0.0.1"


def replaced(text: str) -> str:
    return NAME.sub(ADDRESS, text)


sys.argv[1:] = [replaced(word) for word in getattr(sys, "argv", [""])[1:]]
for key, value in list(os.environ.items()):
    if ".svc" in value:
        os.environ[key] = replaced(value)
for key in BARE:
    if key in os.environ:
        host, colon, port = os.environ[key].partition(":")
        os.environ[key] = (host if host in ("localhost", ADDRESS) else ADDRESS) + colon + port

lookup = socket.getaddrinfo


def getaddrinfo(host, *args, **kwargs):
    return lookup(replaced(host) if isinstance(host, str) else host, *args, **kwargs)


socket.getaddrinfo = getaddrinfo
