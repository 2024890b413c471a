package bridge

import (
	"fmt"
	"time"
)

// Config configures the bridge.
type Config struct {
	// Namespace is where TaskActions are made. {{project}} and {{domain}} stand for those of the run, so that
	// "{{project}}-{{domain}}" gives each its own. Names that would be too long or the same end with a hash.
	Namespace string `mapstructure:"namespace"`
	// CreateNamespaces makes namespaces that do not exist; without it, or without the right to, actions whose namespace
	// does not exist fail with words. Default true.
	CreateNamespaces bool `mapstructure:"createNamespaces"`
	// Workers is how many objects are created or deleted at once.
	Workers int `mapstructure:"workers"`
	// Resync is how often all assignments are compared with all objects.
	Resync time.Duration `mapstructure:"resync"`
	// MaxSilence is how long the state machine may send nothing, not even a heartbeat, before it is asked anew.
	MaxSilence time.Duration `mapstructure:"maxSilence"`
	// ReleaseGrace is how long the object of an action that is over is left alone: the executor deletes it itself
	// when it reported the end.
	ReleaseGrace time.Duration `mapstructure:"releaseGrace"`
	// SealGrace is how much longer, when the executor reported the end: it still stores the logs. Objects of aborted
	// actions are deleted without it.
	SealGrace time.Duration `mapstructure:"sealGrace"`
	// RecreateDelay is how long an object that vanished is left alone: most belong to actions that have just ended.
	RecreateDelay time.Duration `mapstructure:"recreateDelay"`
	// MaxPending is how many assignments are held in memory until their objects are made.
	MaxPending int `mapstructure:"maxPending"`
	// CallTimeout bounds each call to the API server and to the state machine.
	CallTimeout time.Duration `mapstructure:"callTimeout"`
	// FirstBackoff is the pause after the first failure with one object. It doubles with every further one.
	FirstBackoff time.Duration `mapstructure:"firstBackoff"`
	// MaxBackoff is the longest pause.
	MaxBackoff time.Duration `mapstructure:"maxBackoff"`
	// Election chooses the active bridge among replicas.
	Election ElectionConfig `mapstructure:"election"`
}

// ElectionConfig chooses the active bridge by a Kubernetes Lease.
type ElectionConfig struct {
	// Enabled is off where there is only one replica; then the bridge is always active.
	Enabled bool `mapstructure:"enabled"`
	// Namespace has the Lease. It is made when it does not exist.
	Namespace string `mapstructure:"namespace"`
	// Name is the name of the Lease; the id of the installation is appended.
	Name string `mapstructure:"name"`
	// Duration is how long the Lease holds without renewal, and so how long nobody may be active after a crash.
	Duration time.Duration `mapstructure:"duration"`
}

// DefaultConfig suits one replica.
func DefaultConfig() Config {
	return Config{
		Namespace: "flyte",

		CreateNamespaces: true,
		Workers:          16,
		Resync:           5 * time.Minute,
		MaxSilence:       time.Minute,
		ReleaseGrace:     500 * time.Millisecond,
		SealGrace:        90 * time.Second,
		RecreateDelay:    2 * time.Second,
		MaxPending:       2000,
		CallTimeout:      30 * time.Second,
		FirstBackoff:     50 * time.Millisecond,
		MaxBackoff:       30 * time.Second,
		Election:         ElectionConfig{Namespace: "flyte", Name: "flyte-binary-bridge", Duration: 15 * time.Second},
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.Workers <= 0:
		return fmt.Errorf("workers: must be positive, got %d", c.Workers)
	case c.Resync <= 0:
		return fmt.Errorf("resync: must be positive, got %s", c.Resync)
	case c.MaxSilence <= 0:
		return fmt.Errorf("maxSilence: must be positive, got %s", c.MaxSilence)
	case c.ReleaseGrace < 0:
		return fmt.Errorf("releaseGrace: must not be negative, got %s", c.ReleaseGrace)
	case c.SealGrace < 0:
		return fmt.Errorf("sealGrace: must not be negative, got %s", c.SealGrace)
	case c.RecreateDelay < 0:
		return fmt.Errorf("recreateDelay: must not be negative, got %s", c.RecreateDelay)
	case c.MaxPending <= 0:
		return fmt.Errorf("maxPending: must be positive, got %d", c.MaxPending)
	case c.CallTimeout <= 0:
		return fmt.Errorf("callTimeout: must be positive, got %s", c.CallTimeout)
	case c.FirstBackoff <= 0:
		return fmt.Errorf("firstBackoff: must be positive, got %s", c.FirstBackoff)
	case c.MaxBackoff < c.FirstBackoff:
		return fmt.Errorf("maxBackoff: must not be less than firstBackoff, got %s", c.MaxBackoff)
	}
	if _, err := parseTemplate(c.Namespace); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	if err := c.Election.Validate(); err != nil {
		return fmt.Errorf("election.%w", err)
	}
	return nil
}

// of makes the Lease that of one installation, so that another one in the same namespace has its own.
func (c ElectionConfig) of(installation string) ElectionConfig {
	if installation != "" {
		c.Name += "-" + installation
	}
	return c
}

// minLease keeps renewals, three in a lease, from being a load of their own.
const minLease = 3 * time.Second

// Validate names the first field that is wrong.
func (c ElectionConfig) Validate() error {
	switch {
	case !c.Enabled:
		return nil
	case c.Namespace == "":
		return fmt.Errorf("namespace: is needed")
	case c.Name == "":
		return fmt.Errorf("name: is needed")
	case c.Duration < minLease:
		return fmt.Errorf("duration: must be at least %s, got %s", minLease, c.Duration)
	}
	return nil
}
