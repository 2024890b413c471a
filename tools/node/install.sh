#!/usr/bin/env bash
# Installs the chart's trial on the node, as docs/install-on-kubernetes.md does.
set -euo pipefail
. "$(dirname "$0")/env.sh"
helm upgrade --install flyte-binary "$root/charts/flyte-binary" --namespace flyte --create-namespace --set trial=true \
	--set image.registry=$registry,image.repository=flyte-binary,image.tag=trial,image.pullPolicy=Always "$@"
kubectl -n flyte rollout status deployment/flyte-binary --timeout 5m
