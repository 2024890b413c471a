package manager

import (
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/kube/apiretry"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

const (
	// The bounds of concurrent writes to the API server: fewer while it is late. More than all workers make.
	leastWrites, mostWrites = 8, 128
)

// restConfig returns the connection to the cluster: the given one, else the kubeconfig, else the pod's service account. The meter,
// where there is one, counts its calls.
func restConfig(c configuration.KubernetesConfig, given *rest.Config, meter *apipace.Meter, clk clock.Clock, log zerolog.Logger) (*rest.Config, error) {
	var config *rest.Config
	if given != nil {
		config = rest.CopyConfig(given)
	} else {
		var err error
		if config, err = loadKubeconfig(c); err != nil {
			return nil, diagnose.Kubeconfig(c.Kubeconfig, err)
		}
	}
	config.QPS, config.Burst = c.QPS, c.Burst
	config.UserAgent = "flyte-binary"
	if meter != nil {
		config.Wrap(meter.Wrap)
	}
	config.Wrap(apipace.NewGate(clk, leastWrites, mostWrites).Wrap)
	config.Wrap(apiretry.Watches(clk, log))
	return config, nil
}

// loadKubeconfig does without clientcmd for a pod, where that writes two warnings of its own.
func loadKubeconfig(c configuration.KubernetesConfig) (*rest.Config, error) {
	if c.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
}
