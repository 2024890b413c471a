package taskactions

import (
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// Config configures the owner of TaskActions.
type Config struct {
	// Namespace is where TaskActions and pods are created. {{project}} and {{domain}} are replaced by those of the run; names
	// that would be too long or the same end with a hash. Such a namespace is used only if it has the label
	// flyte.org/managed=true, as created ones do. A name without them is one namespace for all; it needs no label. Default
	// {{project}}-{{domain}}.
	Namespace string `config:"namespace"`
	// CreateNamespaces creates namespaces that do not exist. Without it, or without the right to, actions whose namespace
	// does not exist fail with an error that says so. Default true.
	CreateNamespaces bool `config:"createNamespaces"`
	// PodSecurity is the level of the Pod Security Standards to which the API server keeps the pods of created namespaces,
	// those of pod templates included: privileged, baseline or restricted; empty leaves it to the cluster. Default baseline.
	PodSecurity string `config:"podSecurity"`
	// Workers is how many objects are created at once, and how many are deleted at once. Default 8.
	Workers int `config:"workers"`
	// Resync is how often all live actions are compared with all objects. Default 5 m.
	Resync time.Duration `config:"resync"`
	// MaxSilence is how long the runs service may send nothing, not even a heartbeat, before the stream is opened again.
	// Default 1 m.
	MaxSilence time.Duration `config:"maxSilence"`
	// RecreateDelay is the pause before an object that was deleted from outside is created again: most belong to actions
	// that have just ended. Default 2 s.
	RecreateDelay time.Duration `config:"recreateDelay"`
	// MaxPending is how many assignments are held in memory until their objects are created; the others are read again in pages. Default 500.
	MaxPending int `config:"maxPending"`
	// CallTimeout bounds each call to the API server and to the runs service. Default 30 s.
	CallTimeout time.Duration `config:"callTimeout"`
	// Backoff is the pause after a failure with one object. Default 50 ms, at most 30 s.
	Backoff backoff.Config `config:"backoff"`
}

// DefaultConfig suits one cluster.
func DefaultConfig() Config {
	return Config{
		Namespace:        namespaces.Default,
		CreateNamespaces: true,
		PodSecurity:      "baseline",
		Workers:          8,
		Resync:           5 * time.Minute,
		MaxSilence:       stream.MaxSilence,
		RecreateDelay:    2 * time.Second,
		MaxPending:       500,
		CallTimeout:      30 * time.Second,
		Backoff:          backoff.Config{First: 50 * time.Millisecond, Max: 30 * time.Second},
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Workers <= 0, "workers: must be positive, got %d", c.Workers)
	found.If(c.Resync <= 0, "resync: must be positive, got %s", c.Resync)
	found.If(c.MaxSilence <= 0, "maxSilence: must be positive, got %s", c.MaxSilence)
	found.If(c.RecreateDelay < 0, "recreateDelay: must not be negative, got %s", c.RecreateDelay)
	found.If(c.MaxPending <= 0, "maxPending: must be positive, got %d", c.MaxPending)
	found.If(c.CallTimeout <= 0, "callTimeout: must be positive, got %s", c.CallTimeout)
	found.If(!slices.Contains([]string{"",
		"privileged", "baseline", "restricted"}, c.PodSecurity), "podSecurity: must be privileged, baseline, restricted or empty, got %q", c.PodSecurity)
	found.Section("backoff", c.Backoff.Validate())
	if _, err := namespaces.Parse(c.Namespace); err != nil {
		found.Add("namespace: %w", err)
	}
	return found.Err()
}

// Namespaces says what may be done with namespaces. own is that of the server; empty for none.
func (c Config) Namespaces(own string) namespaces.Config {
	return namespaces.Config{Create: c.CreateNamespaces, PodSecurity: c.PodSecurity, Own: own}
}
