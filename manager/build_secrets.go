package manager

import (
	"cmp"
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/secret/aws"
	"github.com/flyte-binary/flyte-binary/secret/azure"
	"github.com/flyte-binary/flyte-binary/secret/gcp"
	"github.com/flyte-binary/flyte-binary/secret/kubernetes"
	"github.com/flyte-binary/flyte-binary/secret/local"
	"github.com/flyte-binary/flyte-binary/secret/vault"
)

// errNoCluster means that a backend needs the cluster, which a process with the target api does not have.
var errNoCluster = errors.New("the backend kubernetes needs a cluster, which a process with the target api does not use; " +
	"set secrets.backends to another one")

func buildSecret(ctx context.Context, p *process) (lifecycle.Part, error) {
	deps := secret.Deps{
		Unavailable: "this installation has no backend for them (secrets.backends)",
		Located:     p.peers.located(), Cluster: p.config.Cluster.ID, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	}
	for _, name := range p.config.Secrets.Backends {
		backend, err := p.secretBackend(ctx, name)
		if errors.Is(err, errNoCluster) {
			// Without secrets everything else works.
			deps.Backends, deps.Unavailable = nil, err.Error()
			p.log.Warn().Err(err).Msg("secrets are not available")
			break
		}
		if err != nil {
			return nil, &diagnose.Failure{
				Part: "secrets", Tried: "open the backend " + name, Cause: err.Error(), Err: err,
				Fix: "correct the section secrets." + name + ", or choose another backend in secrets.backends",
			}
		}
		deps.Backends = append(deps.Backends, secret.Named{Name: name, Backend: backend})
	}
	service, err := secret.New(deps)
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

// secretBackend opens one of the backends of the configuration.
func (p *process) secretBackend(ctx context.Context, name string) (secret.Backend, error) {
	config := p.config.Secrets
	switch name {
	case secret.Local:
		store, err := local.Open(config.Local, p.clock, p.log)
		if err != nil {
			return nil, err
		}
		p.onClose(func(context.Context) error { return store.Close() })
		return store, nil
	case secret.Vault:
		return vault.New(config.Vault, p.clock, p.log)
	case secret.AWS:
		return aws.New(ctx, config.AWS)
	case secret.GCP:
		store, err := gcp.New(ctx, config.GCP)
		if err != nil {
			return nil, err
		}
		p.onClose(func(context.Context) error { return store.Close() })
		return store, nil
	case secret.Azure:
		return azure.New(config.Azure)
	}
	if p.cluster == nil {
		return nil, errNoCluster
	}
	own := config.Kubernetes
	own.Namespace = cmp.Or(own.Namespace, configuration.OwnNamespace(), "flyte")
	return kubernetes.New(own, p.cluster, p.installation)
}
