package configuration

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/manager/leader"
)

// ReplicasConfig says whether several processes serve one installation.
type ReplicasConfig struct {
	// Several must be set where more than one process serves the same database. They all answer calls, and divide the
	// TaskActions among them, by a Lease in the cluster. Defaults to false: a single process need not wait for a Lease when
	// it starts.
	Several bool `config:"several"`
	// Namespace has the Lease. Defaults to that of the process's own pod, and to flyte outside of a cluster. It is
	// created if it does not exist.
	Namespace string `config:"namespace"`
	// Lease is the Lease that says which replica works on which TaskActions.
	Lease LeaseConfig `config:"lease"`
	// Installation is the label that marks the objects of this installation in the cluster. Defaults to an id that is kept in
	// the database. To change it makes TaskActions that exist someone else's.
	Installation string `config:"installation"`
}

// LeaseConfig describes the Lease of the replicas.
type LeaseConfig struct {
	// Name is the name of the Lease; the id of the installation is appended.
	Name string `config:"name"`
	// Duration is how long a replica may go without renewing its lease before others take over its TaskActions. After a
	// crash they wait that long. At least 3 s.
	Duration time.Duration `config:"duration"`
}

// DefaultReplicasConfig suits a single process.
func DefaultReplicasConfig() ReplicasConfig {
	return ReplicasConfig{Lease: LeaseConfig{Name: "flyte-binary", Duration: 15 * time.Second}}
}

// Validate lists the fields that are wrong.
func (c ReplicasConfig) Validate() error {
	var found invalid.Fields
	// The name of an installation and the id of a cluster are the two parts of one label.
	found.If(c.Installation != "" && !ident.IsCluster(c.Installation), "installation: %s, got %q", ident.ClusterRule, c.Installation)
	if !c.Several {
		return found.Err()
	}
	found.Section("lease", c.election("").Validate())
	return found.Err()
}

// ownNamespaceFile is where a pod finds the name of its namespace.
const ownNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OwnNamespace is that of the process's pod; empty outside of a cluster.
func OwnNamespace() string {
	name, err := os.ReadFile(ownNamespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// election is the configuration of the election of one installation, which has a Lease of its own.
func (c ReplicasConfig) election(installation string) leader.Config {
	namespace := c.Namespace
	if namespace == "" {
		namespace = cmp.Or(OwnNamespace(), "flyte")
	}
	name := c.Lease.Name
	if name != "" && installation != "" {
		name += "-" + installation
	}
	return leader.Config{Namespace: namespace, Name: name, Duration: c.Lease.Duration}
}

// Leader makes the election of the replicas that work on the shards of a cluster. owner is the label of its objects.
func (c ReplicasConfig) Leader(cluster *rest.Config, owner string, log zerolog.Logger, meter metric.MeterProvider) (*leader.Election, error) {
	return leader.New(c.election(owner), leader.Deps{Kubernetes: cluster, Logger: log, Meter: meter})
}
