package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/flyte-binary/flyte-binary/demo/kube"
)

// apiServer is a prepared API server and its privileged loopback connection.
type apiServer struct {
	prepared interface{ Run(context.Context) error }
	loopback *rest.Config
}

// flags of the API server. Paths are relative to the child's working directory.
func flags(endpoint string, opts options) []string {
	args := []string{
		"--etcd-servers=" + endpoint,
		"--etcd-compaction-interval=2m",
		// A watch cache keeps every event of the last 75 seconds, up to 100,000 for each kind of object, and an idle one keeps
		// them forever: no setting bounds it. Watches read from etcd instead, which is in the same process.
		"--watch-cache=false",
		"--bind-address=127.0.0.1",
		// Otherwise it looks for a default route, which a laptop without network does not have.
		"--advertise-address=127.0.0.1",
		"--external-hostname=localhost",
		"--secure-port=" + strconv.Itoa(opts.port),
		"--tls-cert-file=" + kube.ServerCertFile,
		"--tls-private-key-file=" + kube.ServerKeyFile,
		"--cert-dir=.",
		// No request passes without the token, not even a health check.
		"--anonymous-auth=false",
		"--token-auth-file=" + kube.TokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://flyte-binary.demo",
		"--service-account-key-file=" + kube.AccountKeyFile,
		"--service-account-signing-key-file=" + kube.AccountKeyFile,
		"--encryption-provider-config=" + kube.EncryptionFile,
		"--service-cluster-ip-range=10.0.0.0/24",
		// This server has no address that pods could reach through a service.
		"--endpoint-reconciler-type=none",
		"--kubelet-preferred-address-types=InternalIP",
		// ServiceAccount would mount a token volume into every pod and refuse pods in the first second of a namespace;
		// the taints would wait for a controller that the demo does not have.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		// All clients are parts of the demo, so fairness has no purpose. Without it, the demo starts with a tenth less CPU.
		"--enable-priority-and-fairness=false",
		"--event-ttl=15m",
		"--shutdown-delay-duration=0s",
		"--profiling=" + strconv.FormatBool(opts.profiling),
	}
	if kubelet := opts.kubelet; kubelet.Authority != "" {
		args = append(args, "--kubelet-certificate-authority="+kubelet.Authority,
			"--kubelet-client-certificate="+kubelet.ClientCertificate, "--kubelet-client-key="+kubelet.ClientKey)
	}
	return args
}

// newAPIServer builds the upstream server, with the inherited listener and a flag set of its own instead of the process's.
func newAPIServer(ctx context.Context, endpoint string, listener net.Listener, cfg options) (*apiServer, error) {
	opts := apioptions.NewServerRunOptions()
	dropManagedFields(opts)
	set := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := opts.Flags()
	for _, part := range named.FlagSets {
		set.AddFlagSet(part)
	}
	if err := set.Parse(flags(endpoint, cfg)); err != nil {
		return nil, fmt.Errorf("flags of the API server: %w", err)
	}
	opts.SecureServing.Listener = listener
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("features of the API server: %w", err)
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete the API server's options: %w", err)
	}
	if failures := completed.Validate(); len(failures) > 0 {
		return nil, fmt.Errorf("options of the API server: %w", utilerrors.NewAggregate(failures))
	}
	incomplete, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	whole, err := incomplete.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	chain, err := app.CreateServerChain(whole)
	if err != nil {
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	loopback := chain.GenericAPIServer.LoopbackClientConfig
	if loopback == nil {
		return nil, errors.New("build the API server: it has no connection to itself")
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("prepare the API server: %w", err)
	}
	return &apiServer{prepared: prepared, loopback: loopback}, nil
}
