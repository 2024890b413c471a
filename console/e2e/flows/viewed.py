"""What previews are looked at with: a table, an image and a directory with a file of each kind."""

import json
import pathlib
import wave

import flyte
import flyte.io
import numpy as np
import pandas as pd
from PIL import Image

env = flyte.TaskEnvironment(name="viewed", resources=flyte.Resources(cpu="200m", memory="400Mi"))


@env.task
async def customers(rows: int = 250) -> pd.DataFrame:
    """Returns a table."""
    return pd.DataFrame({
        "customer": [f"customer {n}" for n in range(rows)],
        "score": [None if n % 10 == 3 else n / 4 for n in range(rows)],
        "since": pd.date_range("2026-01-01", periods=rows, freq="h"),
    })


SCRIPT = "<script>window.owned = 1; try { window.parent.owned = 1 } catch {}</script>"
DRAWING = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="window.owned = 1">{SCRIPT}<rect width="40" height="30" fill="#39c"/></svg>'
WORDS = "# Findings\n\nA *short* list:\n\n- one\n- two\n\n<img src=x onerror='window.owned=1'> [bad](javascript:window.owned=1)\n"


def files(folder: pathlib.Path) -> None:
    """Writes a file of each kind, with the libraries that people use. Some try what they may not."""
    pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]}).to_csv(folder / "table.csv", index=False)
    np.save(folder / "matrix.npy", np.arange(12).reshape(3, 4) / 2)
    np.savez_compressed(folder / "weights.npz", first=np.arange(6).reshape(2, 3), bias=np.array([0.5]))
    (folder / "config.json").write_text(json.dumps({"layers": [{"size": 64, "kind": "dense"}, {"size": 10}], "rate": 0.01}))
    (folder / "notes.md").write_text(WORDS)
    (folder / "page.html").write_text(f"<h1>A page</h1><p id='verdict'>quiet</p>{SCRIPT}<script>document.getElementById('verdict').textContent = origin</script>")
    (folder / "drawing.svg").write_text(DRAWING)
    (folder / "train.log").write_text("".join(f"epoch {n} of 500\n" for n in range(20_000)))
    (folder / "weights.bin").write_bytes(bytes(range(256)) * 4)
    with wave.open(str(folder / "tone.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes(128 + n % 32 for n in range(8000)))
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# A notebook"},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "1 + 1", "outputs": [
            {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2"}},
        ]},
    ]
    (folder / "study.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


@env.task
async def previewing(rows: int = 250) -> tuple[flyte.io.File, flyte.io.Dir, dict[str, float]]:
    """Returns an image, a directory with a file of each kind, and figures."""
    await customers(rows)
    Image.linear_gradient("L").save("plot.png")
    folder = pathlib.Path("kinds")
    folder.mkdir()
    files(folder)
    return await flyte.io.File.from_local("plot.png"), await flyte.io.Dir.from_local(str(folder)), {"auc": 0.91, "loss": 0.2}
