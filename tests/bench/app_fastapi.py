"""The app of the apps case that users would write: FastAPI under uvicorn, in one process. Its argument is the port."""

import sys

import uvicorn
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
async def answer() -> dict[str, str]:
    return {"answer": "hello"}


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
