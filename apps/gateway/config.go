package gateway

import (
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// What Config.Pages can be.
const (
	pagesSandbox = "sandbox"
	pagesTrusted = "trusted"
)

// Config configures how requests reach apps.
type Config struct {
	// Domain gives each app a host of its own: <subdomain>.<domain>, with the port of the server. A record *.<domain> of the
	// name server must lead here. The demo has localhost. Empty, the default, means that apps are reached by path only, or
	// by a host that they declare themselves.
	Domain string `config:"domain"`
	// RequestTimeout is how long a request may be silent: no byte of its body and none of its answer moves. It is for apps
	// that declare no time themselves, and not for WebSockets, server-sent events and gRPC answers once they have begun.
	// Defaults to 5m.
	RequestTimeout time.Duration `config:"requestTimeout"`
	// WaitTimeout is how long a request may wait for a replica: for a sleeping app to start, for one that starts again, and
	// for one with room. Defaults to 1m.
	WaitTimeout time.Duration `config:"waitTimeout"`
	// MaxWaiting is how many requests may wait for one app; more are refused. Their bodies are not read while they wait.
	// Defaults to 1000.
	MaxWaiting int `config:"maxWaiting"`
	// MaxWaitingTotal is how many requests may wait for all apps together. Defaults to 10000.
	MaxWaitingTotal int `config:"maxWaitingTotal"`
	// Near are the ids of the clusters that are near this process, the nearest first. Requests for an app that runs in several
	// clusters go there first, and then to the cluster to which connections take the least time. Default none.
	Near []string `config:"near"`
	// MaxSilence is how long the apps service may send nothing, not even a heartbeat, before the stream of routes is opened again.
	// Defaults to 1m.
	MaxSilence time.Duration `config:"maxSilence"`
	// StallTimeout is how long a client may take nothing of an answer; then the request ends. Defaults to 2m.
	StallTimeout time.Duration `config:"stallTimeout"`
	// InternalNetworks are the addresses from which private apps may be called without a credential of the installation,
	// such as those of pods. Requests that a proxy has passed on never count. Defaults to 127.0.0.0/8, ::1/128.
	InternalNetworks []string `config:"internalNetworks"`
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed. Default none.
	TrustedProxies []string `config:"trustedProxies"`
	// Pages says what pages of apps may do that are reached by path, and so share their origin with the console: sandbox
	// isolates them from it, which also keeps them from calling their own app; trusted sets no limit. Defaults to sandbox.
	Pages string `config:"pages"`
	// MetricApps is how many apps have metrics of their own; all others are counted together, as other. Defaults to 50.
	MetricApps int `config:"metricApps"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		RequestTimeout: 5 * time.Minute, WaitTimeout: time.Minute, MaxWaiting: 1000, MaxWaitingTotal: 10_000, StallTimeout: 2 * time.Minute,
		MaxSilence:       stream.MaxSilence,
		InternalNetworks: []string{"127.0.0.0/8", "::1/128"}, Pages: pagesSandbox, MetricApps: 50,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Domain != strings.ToLower(strings.Trim(c.Domain,
		".")) || strings.ContainsAny(c.Domain, ":/*@ "), "domain: must be a domain in lower case without a port, such as apps.example.com, got %q", c.Domain)
	found.If(c.RequestTimeout <= 0, "requestTimeout: must be positive, got %s", c.RequestTimeout)
	found.If(c.WaitTimeout <= 0, "waitTimeout: must be positive, got %s", c.WaitTimeout)
	found.If(c.MaxWaiting < 1, "maxWaiting: must be at least 1, got %d", c.MaxWaiting)
	found.If(c.MaxWaitingTotal < c.MaxWaiting,
		"maxWaitingTotal: must not be less than maxWaiting, %d, got %d", c.MaxWaiting, c.MaxWaitingTotal)
	for i, cluster := range c.Near {
		found.If(!ident.IsCluster(cluster), "near[%d]: %s, got %q", i, ident.ClusterRule, cluster)
	}
	found.If(c.MaxSilence <= 0, "maxSilence: must be positive, got %s", c.MaxSilence)
	found.If(c.StallTimeout <= 0, "stallTimeout: must be positive, got %s", c.StallTimeout)
	found.If(c.Pages != pagesSandbox && c.Pages != pagesTrusted,
		"pages: must be %s or %s, got %q", pagesSandbox, pagesTrusted, c.Pages)
	found.If(c.MetricApps < 0 || c.MetricApps > 1000, "metricApps: must be from 0 to 1000, got %d", c.MetricApps)
	_, err := outbound.Prefixes(c.InternalNetworks)
	found.Section("internalNetworks", err)
	_, err = outbound.Prefixes(c.TrustedProxies)
	found.Section("trustedProxies", err)
	return found.Err()
}
