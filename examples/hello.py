"""The smallest flow: one task calls another.

    flyte --config config.yaml run --follow hello.py main --name you
"""

import flyte

env = flyte.TaskEnvironment(name="hello")


@env.task
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@env.task
async def main(name: str = "world") -> str:
    greeting = await greet(name)
    print(greeting, flush=True)
    return greeting
