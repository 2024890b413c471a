package webhook

import (
	"net/url"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config says how the webhooks of conditions are called.
type Config struct {
	// PublicURL is the prefix of callback addresses: where the called services reach this server. Defaults to
	// storage.publicURL, and so to the address that the server listens on.
	PublicURL string `config:"publicURL"`
	// SigningKey signs callback addresses. All replicas need the same key. Empty means a key that the installation
	// generates and keeps in the database.
	SigningKey string `config:"signingKey" sensitive:"true"`
	// CallbackTTL is how long a callback address works if its condition has no timeout of its own. Default 30 days.
	CallbackTTL time.Duration `config:"callbackTTL"`
	// Allow lists address ranges that may be called although they are refused by default: this machine, private networks,
	// and link-local addresses, where clouds keep their metadata. Example: 10.20.0.0/16. Default none.
	Allow []string `config:"allow"`
	// Proxy is the URL of an HTTP proxy for all calls; the proxy then decides which addresses may be called. The
	// proxy variables of the environment are ignored. Default none.
	Proxy string `config:"proxy" sensitive:"true"`
	// Timeout bounds one call. Default 10 s.
	Timeout time.Duration `config:"timeout"`
	// MaxTries is how many tries a call gets before it is dropped. Default 12.
	MaxTries int `config:"maxTries"`
	// Backoff is the pause before a failed call is tried again. It varies by a quarter. Defaults 1 s, at most 5 m.
	Backoff backoff.Config `config:"backoff"`
	// Parallel is how many calls are in flight at once, at most a quarter of them to one host. Default 32.
	Parallel int `config:"parallel"`
	// Poll is how often the list of calls is read when nothing is added to it: for calls that are tried again. Default 2 s.
	Poll time.Duration `config:"poll"`
	// Lease is how long the replica that calls may be silent before another takes over. Default 6 s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig allows public addresses only.
func DefaultConfig() Config {
	return Config{
		CallbackTTL: 30 * 24 * time.Hour, Timeout: 10 * time.Second, MaxTries: 12,
		Backoff:  backoff.Config{First: time.Second, Max: 5 * time.Minute},
		Parallel: 32, Poll: 2 * time.Second, Lease: 6 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(!isURL(c.PublicURL), "publicURL: must be an http or https URL")
	found.If(!isURL(c.Proxy), "proxy: must be an http or https URL")
	_, err := outbound.Prefixes(c.Allow)
	found.Section("allow", err)
	found.If(c.CallbackTTL <= 0, "callbackTTL: must be positive, got %s", c.CallbackTTL)
	found.If(c.Timeout <= 0, "timeout: must be positive, got %s", c.Timeout)
	found.If(c.MaxTries < 1, "maxTries: must be positive, got %d", c.MaxTries)
	found.If(c.Parallel < 1, "parallel: must be positive, got %d", c.Parallel)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	found.Section("backoff", c.Backoff.Validate())
	return found.Err()
}

// isURL reports whether an optional address is one of HTTP.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http")
}
