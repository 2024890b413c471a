package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config says how the webhooks of conditions are called.
type Config struct {
	// PublicURL is what callback addresses begin with: where those who are called reach this server. Defaults to
	// storage.publicURL, and so to the address that the server listens on.
	PublicURL string `mapstructure:"publicURL"`
	// SigningKey signs callback addresses. All replicas need the same. Empty means a key that the installation makes
	// for itself and keeps in the database.
	SigningKey string `mapstructure:"signingKey" sensitive:"true"`
	// CallbackTTL is how long a callback address works when its condition has no timeout of its own. Default 30 days.
	CallbackTTL time.Duration `mapstructure:"callbackTTL"`
	// Allow are address ranges that may be called although they are refused otherwise: this machine itself and
	// link-local addresses, where clouds keep their metadata. Such as 127.0.0.0/8. Default none.
	Allow []string `mapstructure:"allow"`
	// Proxy is the URL of an HTTP proxy for all calls; which addresses may be called is its business then. The
	// environment's proxy variables count for nothing. Default none.
	Proxy string `mapstructure:"proxy" sensitive:"true"`
	// Timeout bounds one call. Default 10 s.
	Timeout time.Duration `mapstructure:"timeout"`
	// MaxTries is how often a call is tried before it is given up. Default 12.
	MaxTries int `mapstructure:"maxTries"`
	// MinBackoff is the pause after the first failed try; it doubles up to MaxBackoff and varies by a quarter.
	// Defaults 1 s and 5 m.
	MinBackoff time.Duration `mapstructure:"minBackoff"`
	// MaxBackoff is the longest pause between two tries.
	MaxBackoff time.Duration `mapstructure:"maxBackoff"`
	// Parallel is how many calls are under way at once, at most a quarter of them to one host. Default 32.
	Parallel int `mapstructure:"parallel"`
	// Poll is how often the list is looked at. Default 500 ms.
	Poll time.Duration `mapstructure:"poll"`
	// Lease is how long a holder may be silent before another replica takes over. Default 6 s.
	Lease time.Duration `mapstructure:"lease"`
}

// DefaultConfig calls everybody but this machine and link-local addresses.
func DefaultConfig() Config {
	return Config{
		CallbackTTL: 30 * 24 * time.Hour, Timeout: 10 * time.Second, MaxTries: 12, MinBackoff: time.Second, MaxBackoff: 5 * time.Minute,
		Parallel: 32, Poll: 500 * time.Millisecond, Lease: 6 * time.Second,
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	for field, value := range map[string]string{"publicURL": c.PublicURL, "proxy": c.Proxy} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
			return fmt.Errorf("%s: must be an http or https URL", field)
		}
	}
	if _, err := prefixes(c.Allow); err != nil {
		return err
	}
	switch {
	case c.CallbackTTL <= 0:
		return fmt.Errorf("callbackTTL: must be positive, got %s", c.CallbackTTL)
	case c.Timeout <= 0:
		return fmt.Errorf("timeout: must be positive, got %s", c.Timeout)
	case c.MaxTries < 1:
		return fmt.Errorf("maxTries: must be positive, got %d", c.MaxTries)
	case c.MinBackoff <= 0:
		return fmt.Errorf("minBackoff: must be positive, got %s", c.MinBackoff)
	case c.MaxBackoff < c.MinBackoff:
		return fmt.Errorf("maxBackoff: must be at least minBackoff, got %s", c.MaxBackoff)
	case c.Parallel < 1:
		return fmt.Errorf("parallel: must be positive, got %d", c.Parallel)
	case c.Poll <= 0:
		return fmt.Errorf("poll: must be positive, got %s", c.Poll)
	case c.Lease < 3*time.Second:
		return fmt.Errorf("lease: must be at least 3s, got %s", c.Lease)
	}
	return nil
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	parsed := make([]netip.Prefix, 0, len(texts))
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("allow[%d]: must be an address range such as 127.0.0.0/8", i)
		}
		parsed = append(parsed, prefix)
	}
	return parsed, nil
}
