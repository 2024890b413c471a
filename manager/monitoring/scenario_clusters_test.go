package monitoring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

// clusterAway breaks the way from the controller of a cluster to the API.
func clusterAway(t *testing.T) (map[string]string, func(), func()) {
	cluster := kubetest.New(t)
	config := apiOnly(t)
	config.Auth.InternalToken, config.Replicas.Installation = "recorded", "recorded"
	api := start(t, config, nil)
	line, err := proxy.NewTCP(strings.TrimPrefix(api.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(line.Close)
	config.Target, config.Database.URL, config.Cluster.ID = configuration.TargetController, "", "east"
	config.ControlPlane.URL = "http://" + line.Addr()
	config.Actions.TaskActions.Namespace, config.Executor.Namespaces = cluster.Namespace, []string{cluster.Namespace}
	start(t, config, cluster.Config)
	begin := func() {
		line.Refuse(true)
		line.Cut()
	}
	return map[string]string{"one": api.url}, begin, func() { line.Refuse(false) }
}
