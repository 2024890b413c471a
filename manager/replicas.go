package manager

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// ReplicasConfig says whether several processes serve one installation.
type ReplicasConfig struct {
	// Several is to be set where more than one process serves the same database. They all answer calls; one of them
	// at a time makes TaskActions and one reconciles them, elected by Leases in the cluster. Defaults to false: a
	// single process need not wait for a Lease when it starts. It switches bridge.election and
	// executor.leaderElection on, whatever those say.
	Several bool `mapstructure:"several"`
	// Namespace has the Leases. Defaults to that of the process's own pod, and to flyte outside of a cluster. It is
	// made when it does not exist.
	Namespace string `mapstructure:"namespace"`
	// Installation is the label by which objects in the cluster are known as ours. Defaults to an id that is kept in
	// the database. To change it makes TaskActions that exist somebody else's.
	Installation string `mapstructure:"installation"`
}

// labelValue is what a label may have.
var labelValue = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// Validate names the first field that is wrong.
func (c ReplicasConfig) Validate() error {
	if c.Installation != "" && !labelValue.MatchString(c.Installation) {
		return fmt.Errorf("installation: up to 32 lower case letters, digits and dashes, got %q", c.Installation)
	}
	return nil
}

// ownNamespace is where a pod finds the name of its namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// elect switches the elections on when there are several replicas.
func (c *Config) elect() {
	if !c.Replicas.Several {
		return
	}
	namespace := c.Replicas.Namespace
	if namespace == "" {
		namespace = "flyte"
		if own, err := os.ReadFile(ownNamespace); err == nil && strings.TrimSpace(string(own)) != "" {
			namespace = strings.TrimSpace(string(own))
		}
	}
	c.Bridge.Election.Enabled, c.Bridge.Election.Namespace = true, namespace
	c.Executor.LeaderElection.Enabled, c.Executor.LeaderElection.Namespace = true, namespace
}
