"""What tasks of the demo return and hand over lies in the object store, as with a store on another machine."""

import asyncio
import pathlib
import shutil

import pandas as pd
import pytest

from flows import kept
from server import eventually
from test_flows import result

pytestmark = pytest.mark.usefixtures("sdk")


def emptied(folder: pathlib.Path) -> bool:
    """Removes what is in a folder. The node frees the scratch folders of ended tasks at the same time, so what vanishes meanwhile
    makes this return False."""
    try:
        for entry in folder.iterdir():
            shutil.rmtree(entry)
    except FileNotFoundError:
        return False
    return True


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
def test_results_outlive_their_source(server, sync):
    file, tree, frame, seen = result(kept.main, "as it was", sync)
    assert seen == ["as it was"] * 8
    for folder in ("work", "tmp"):  # the scratch folders of all tasks that have ended
        eventually(lambda: emptied(server.data / "node" / folder), what=f"an empty {folder}")
    blobs = str(server.data / "blobs") + "/"
    for uri in (file.path, tree.path, frame.uri):
        assert uri.startswith(blobs), uri
    assert pathlib.Path(asyncio.run(file.download())).read_text() == "as it was"
    assert (pathlib.Path(asyncio.run(tree.download())) / "below" / "part.txt").read_text() == "as it was"
    # DataFrame.all copies into the task's own attempt first; outside of tasks there is none.
    assert list(pd.read_parquet(frame.uri)["text"]) == ["as it was"]


def test_inputs_of_children_are_what_they_were_when_handed_over():
    assert result(kept.hands_over)[0] == ["one", "two"]
