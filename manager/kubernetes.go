package manager

import (
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyte-binary/flyte-binary/internal/apiretry"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// rest returns the connection to the cluster: the given one, else the kubeconfig, else the pod's service account.
func (c KubernetesConfig) rest(given *rest.Config, clk clock.Clock, log zerolog.Logger) (*rest.Config, error) {
	var config *rest.Config
	if given != nil {
		config = rest.CopyConfig(given)
	} else {
		var err error
		if config, err = c.load(); err != nil {
			return nil, diagnose.Kubeconfig(c.Kubeconfig, err)
		}
	}
	config.QPS, config.Burst = c.QPS, c.Burst
	config.UserAgent = "flyte-binary"
	config.Wrap(apiretry.Watches(clk, log))
	return config, nil
}

// load does without clientcmd for a pod, where that writes two warnings of its own.
func (c KubernetesConfig) load() (*rest.Config, error) {
	if c.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
}
