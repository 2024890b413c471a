"""A task that brings its packages along: the first run installs them, and later ones find them."""

import flyte

env = flyte.TaskEnvironment(
    name="packages",
    image=flyte.Image.from_debian_base().with_pip_packages("humanize==4.9.0"),
)


@env.task
def main(number: int = 1_234_567) -> str:
    import humanize

    return f"{number} is {humanize.intword(number)}"
