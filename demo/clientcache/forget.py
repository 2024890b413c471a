"""Removes from a cache of the SDK what may be gone from this machine, and prints the number of entries.

usage: forget.py CACHE"""

import os
import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], timeout=2)
tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
forgotten = 0
with connection:
    if "bundle_cache" in tables:
        # Bundles in stores on other machines have URLs.
        for (path,) in connection.execute("SELECT DISTINCT remote_path FROM bundle_cache WHERE remote_path LIKE '/%'").fetchall():
            if not os.path.exists(path):
                forgotten += connection.execute("DELETE FROM bundle_cache WHERE remote_path = ?", (path,)).rowcount
    if "image_cache" in tables:
        # Only demos name images like this, and a demo tells at once which ones it has.
        forgotten += connection.execute("DELETE FROM image_cache WHERE image_uri LIKE 'flyte:%'").rowcount
print(forgotten)
