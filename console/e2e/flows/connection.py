"""How the programs of these tests reach the server: without signing in, or, where people sign in, with the API key of the environment."""

from __future__ import annotations

import os


def options() -> dict:
    """Arguments of flyte.init."""
    key = os.environ.get("E2E_API_KEY")
    if key is None:
        return {"insecure": True}
    return {"insecure": False, "ca_cert_file_path": os.environ["SSL_CERT_FILE"], "auth_type": "ExternalCommand", "command": ["echo", key]}
