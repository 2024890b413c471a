package webhook

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/backoff"
	"github.com/flyte-binary/flyte-binary/internal/outbound"
)

// Config says how the webhooks of conditions are called.
type Config struct {
	// PublicURL is the prefix of callback addresses: where the called services reach this server. Defaults to
	// storage.publicURL, and so to the address that the server listens on.
	PublicURL string `mapstructure:"publicURL"`
	// SigningKey signs callback addresses. All replicas need the same key. Empty means a key that the installation
	// generates and keeps in the database.
	SigningKey string `mapstructure:"signingKey" sensitive:"true"`
	// CallbackTTL is how long a callback address works if its condition has no timeout of its own. Default 30 days.
	CallbackTTL time.Duration `mapstructure:"callbackTTL"`
	// Allow lists address ranges that may be called although they are refused by default: this machine, private networks,
	// and link-local addresses, where clouds keep their metadata. Example: 10.20.0.0/16. Default none.
	Allow []string `mapstructure:"allow"`
	// Proxy is the URL of an HTTP proxy for all calls; the proxy then decides which addresses may be called. The
	// proxy variables of the environment are ignored. Default none.
	Proxy string `mapstructure:"proxy" sensitive:"true"`
	// Timeout bounds one call. Default 10 s.
	Timeout time.Duration `mapstructure:"timeout"`
	// MaxTries is how many tries a call gets before it is dropped. Default 12.
	MaxTries int `mapstructure:"maxTries"`
	// Backoff is the pause before a failed call is tried again. It varies by a quarter. Defaults 1 s, at most 5 m.
	Backoff backoff.Config `mapstructure:"backoff"`
	// Parallel is how many calls are in flight at once, at most a quarter of them to one host. Default 32.
	Parallel int `mapstructure:"parallel"`
	// Poll is how often the list of calls is read. Default 500 ms.
	Poll time.Duration `mapstructure:"poll"`
	// Lease is how long the replica that calls may be silent before another takes over. Default 6 s.
	Lease time.Duration `mapstructure:"lease"`
}

// DefaultConfig allows public addresses only.
func DefaultConfig() Config {
	return Config{
		CallbackTTL: 30 * 24 * time.Hour, Timeout: 10 * time.Second, MaxTries: 12,
		Backoff:  backoff.Config{First: time.Second, Max: 5 * time.Minute},
		Parallel: 32, Poll: 500 * time.Millisecond, Lease: 6 * time.Second,
	}
}

// Validate returns an error for the first invalid field.
func (c Config) Validate() error {
	for field, value := range map[string]string{"publicURL": c.PublicURL, "proxy": c.Proxy} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
			return fmt.Errorf("%s: must be an http or https URL", field)
		}
	}
	if _, err := outbound.Prefixes(c.Allow); err != nil {
		return err
	}
	switch {
	case c.CallbackTTL <= 0:
		return fmt.Errorf("callbackTTL: must be positive, got %s", c.CallbackTTL)
	case c.Timeout <= 0:
		return fmt.Errorf("timeout: must be positive, got %s", c.Timeout)
	case c.MaxTries < 1:
		return fmt.Errorf("maxTries: must be positive, got %d", c.MaxTries)
	case c.Parallel < 1:
		return fmt.Errorf("parallel: must be positive, got %d", c.Parallel)
	case c.Poll <= 0:
		return fmt.Errorf("poll: must be positive, got %s", c.Poll)
	case c.Lease < 3*time.Second:
		return fmt.Errorf("lease: must be at least 3s, got %s", c.Lease)
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("backoff.%w", err)
	}
	return nil
}
