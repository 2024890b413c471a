# Sourced by the scripts here: where the node's programs, state and addresses are.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
programs=$root/.bin/node
# Container file systems need a real file system and short paths, so the state is outside the checkout.
state=${FLYTE_NODE_STATE:-/var/lib/flyte-node}
run=/run/flyte-node
# A bridge of its own: nothing listens on the machine's other addresses, and the loopback ports stay free.
bridge=flytenode0
address=10.233.0.1
pods=10.244.0.0/24
services=10.96.0.0/16
registry=$address:5000
sdk=$(sed -n 's/^flyte==//p' "$root/e2e/requirements.txt")
python=3.11 # that of Debian 12
export KUBECONFIG=$state/admin.kubeconfig
export PATH=$programs:$root/.bin:$PATH
