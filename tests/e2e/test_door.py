"""What is refused before anything runs, and what is noted on the action: types of task, specs, names, organisations."""

import flyte
import flyte.remote as remote
import pytest

from flows import distributed
from server import Server

PLACE = {"project": "flytesnacks", "domain": "development"}


@pytest.mark.usefixtures("sdk")
def test_task_type_that_nobody_serves():
    with pytest.raises(Exception, match='serves tasks of type "spark": that takes the plugin spark, and the Spark operator.*spark=pod'):
        flyte.run(distributed.trains)
    handle = flyte.run(distributed.starts_trains)
    handle.wait(quiet=True)
    answer = handle.outputs()[0]
    assert answer.startswith("refused: ") and 'serves tasks of type "spark"' in answer, answer


@pytest.mark.usefixtures("sdk")
def test_secrets_of_the_organisation():
    """The client asks SelectCluster with an organisation without a name; it must get as far as SecretService."""
    remote.Secret.create("of-the-door", "x")
    assert "of-the-door" in [secret.name for secret in remote.Secret.listall()]


def test_organisation_without_a_name(server: Server):
    status, answer = server.call("flyteidl2.cluster.ClusterService/SelectCluster", {"orgId": {}, "operation": "OPERATION_USE_SECRETS"})
    assert status == 200, answer


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "a b", "a\u202eb"])
def test_names_of_actions(server: Server, name: str):
    action = {"actionId": {"run": PLACE | {"name": "r"}, "name": name}, "parentActionName": "a0", "inputUri": "x", "runOutputBase": "x"}
    status, answer = server.call("flyteidl2.actions.ActionsService/Enqueue", {"action": action | {"condition": {"name": "c", "type": {"simple": "BOOLEAN"}}}})
    assert status == 400 and answer["code"] == "invalid_argument", answer
    assert answer["message"].startswith("action.action_id.name: ") and "letters, digits, dashes and underscores" in answer["message"]
