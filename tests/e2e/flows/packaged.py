"""Tasks whose images bring packages along."""

import os

import flyte

BASE = flyte.Image.from_debian_base()
SMALL = flyte.Resources(cpu="100m", memory="200Mi")

# The index is on a port that the test has chosen.
INDEX = os.environ.get("PRIVATE_INDEX", "http://127.0.0.1:9/simple")


def private(secret: str) -> flyte.Image:
    return BASE.with_pip_packages(
        "private-package==1.0", extra_index_urls=INDEX, secret_mounts=[flyte.Secret(secret, as_env_var="INDEX_TOKEN")]
    )


humane = flyte.TaskEnvironment(
    "humane", resources=SMALL,
    image=BASE.with_pip_packages("humanize==4.9.0").with_env_vars({"GREETING": "hello"}),
)
secret = flyte.TaskEnvironment("secret", resources=SMALL, image=private("index-token"))


@humane.task
def number() -> str:
    import humanize

    return f"{os.environ['GREETING']} {humanize.__version__} {humanize.intcomma(1234567)}"


@secret.task
def word() -> str:
    import private_package

    return private_package.WORD
