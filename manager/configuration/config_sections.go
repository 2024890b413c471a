package configuration

import (
	"net"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// ServerConfig is the one port that serves everything.
type ServerConfig struct {
	// Listen is the address of the port, host:port. The default is for this machine alone; in a pod or a container it is
	// 0.0.0.0:8090. An address that other machines reach requires access.issuers, access.local or access.open. Defaults to
	// 127.0.0.1:8090.
	Listen string `config:"listen"`
	// TLS is the certificate of the port.
	TLS TLSConfig `config:"tls"`
	// AllowedHosts are further names under which clients reach this server, such as flyte.example.com. Requests under
	// other names are refused, so that a web page cannot reach the server through a name of its own (DNS rebinding).
	// Always allowed: IP addresses, localhost, names without a dot (in the demo only that of the machine), names of Kubernetes
	// services (not in the demo), and the hosts of storage.publicURL, access.publicURL, runs.webhooks.publicURL and
	// executor.pod.endpoint.
	AllowedHosts []string `config:"allowedHosts"`
	// AllowedOrigins are the web origins whose pages may call the API, such as https://console.example. A * means
	// one part, as in http://localhost:*. Default none: only the built-in console may.
	AllowedOrigins []string `config:"allowedOrigins"`
	// MaxRequestBytes bounds one request message, unpacked, of the procedures that carry specs, values or batches. Those
	// of all others have 1 MiB at most. Decoded, a message may take four times as much memory. Defaults to 64 MiB.
	MaxRequestBytes int `config:"maxRequestBytes"`
	// MaxDecodingBytes bounds the memory of all requests that are being received, unpacked and decoded at once. More of
	// them wait for some seconds and are then refused with resource_exhausted. At least four times maxRequestBytes.
	// Defaults to 512 MiB.
	MaxDecodingBytes int `config:"maxDecodingBytes"`
	// HeaderTimeout is how long the header of a request may take, from its first byte or, for the first request, from the
	// start of the connection; then the connection is closed. Defaults to 10s.
	HeaderTimeout time.Duration `config:"headerTimeout"`
	// BodyTimeout is how long the body of a request may bring nothing; then the request ends. One that takes longer must
	// have 4 KiB a second on average. Streams may be silent between messages. Defaults to 30s.
	BodyTimeout time.Duration `config:"bodyTimeout"`
	// ConnectionsPerClient bounds the connections from one address; more are closed at once. A proxy in front is one
	// address, and some make a connection for each watcher. Defaults to 20000.
	ConnectionsPerClient int `config:"connectionsPerClient"`
	// RequestsPerClient bounds the requests from one address that are in flight, streams included; more are refused with
	// resource_exhausted. A proxy in front is one address. Defaults to 20000.
	RequestsPerClient int `config:"requestsPerClient"`
	// DrainDelay is how long a process still serves after SIGTERM, with /readyz at 503, before it closes its port: for
	// balancers that learn late that it goes. 0, the default, suits a single process. With several behind a Kubernetes Service,
	// 5s; terminationGracePeriodSeconds must exceed it and shutdownGrace together.
	DrainDelay time.Duration `config:"drainDelay"`
	// ShutdownGrace is how long requests in flight may take when the process stops. Defaults to 20s.
	ShutdownGrace time.Duration `config:"shutdownGrace"`
	// PingAfter is how long an HTTP/2 connection may be silent before the peer is asked whether it is there. Defaults
	// to 30s.
	PingAfter time.Duration `config:"pingAfter"`
	// PingTimeout is how long it may take to answer; then the connection and all its streams end. Defaults to 15s.
	PingTimeout time.Duration `config:"pingTimeout"`
	// WriteTimeout is how long an HTTP/2 peer may take nothing of what is sent to it; then its connection ends.
	// Defaults to 30s.
	WriteTimeout time.Duration `config:"writeTimeout"`
}

// DefaultServerConfig is what ServerConfig's fields say.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		Listen:               "127.0.0.1:8090",
		MaxRequestBytes:      64 << 20,
		MaxDecodingBytes:     512 << 20,
		HeaderTimeout:        10 * time.Second,
		BodyTimeout:          30 * time.Second,
		ConnectionsPerClient: 20_000,
		RequestsPerClient:    20_000,
		ShutdownGrace:        20 * time.Second,
		PingAfter:            30 * time.Second,
		PingTimeout:          15 * time.Second,
		WriteTimeout:         30 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c ServerConfig) Validate() error {
	var found invalid.Fields
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		found.Add("listen: want host:port, got %q", c.Listen)
	}
	for i, host := range c.AllowedHosts {
		found.If(host == "" || strings.ContainsAny(host,
			"*/@ "), "allowedHosts[%d]: must be a host name such as flyte.example.com, got %q", i, host)
	}
	for i, origin := range c.AllowedOrigins {
		found.If(origin == "*" || strings.HasPrefix(origin,
			"*") || strings.Count(origin, "*") > 1, "allowedOrigins[%d]: name the origins; %q would let any page call the API", i, origin)
	}
	found.Section("tls", c.TLS.Validate())
	found.If(c.MaxRequestBytes <= 0, "maxRequestBytes: must be positive, got %d", c.MaxRequestBytes)
	found.If(c.MaxDecodingBytes < 4*c.MaxRequestBytes,
		"maxDecodingBytes: must be at least four times maxRequestBytes, %d, got %d", 4*c.MaxRequestBytes, c.MaxDecodingBytes)
	found.If(c.HeaderTimeout <= 0, "headerTimeout: must be positive, got %s", c.HeaderTimeout)
	found.If(c.BodyTimeout <= 0, "bodyTimeout: must be positive, got %s", c.BodyTimeout)
	found.If(c.ConnectionsPerClient <= 0, "connectionsPerClient: must be positive, got %d", c.ConnectionsPerClient)
	found.If(c.RequestsPerClient <= 0, "requestsPerClient: must be positive, got %d", c.RequestsPerClient)
	found.If(c.DrainDelay < 0, "drainDelay: must not be negative, got %s", c.DrainDelay)
	found.If(c.ShutdownGrace <= 0, "shutdownGrace: must be positive, got %s", c.ShutdownGrace)
	found.If(c.PingAfter <= 0, "pingAfter: must be positive, got %s", c.PingAfter)
	found.If(c.PingTimeout <= 0, "pingTimeout: must be positive, got %s", c.PingTimeout)
	found.If(c.WriteTimeout <= 0, "writeTimeout: must be positive, got %s", c.WriteTimeout)
	return found.Err()
}

// KubernetesConfig is the cluster that runs the tasks.
type KubernetesConfig struct {
	// Kubeconfig is a kubeconfig file; empty means the pod's own service account.
	Kubeconfig string `config:"kubeconfig"`
	// QPS bounds the requests a second to the API server, on average, of each kind of object. An action makes two for its TaskAction and two
	// or three for its pod, so 500 would be at most 250 actions a second. Fewer writes are under way while the API server is late. Defaults to
	// 2500.
	QPS float32 `config:"qps"`
	// Burst is how far they may exceed QPS for a moment. Defaults to 5000.
	Burst int `config:"burst"`
}

// DefaultKubernetesConfig is what KubernetesConfig's fields say.
func DefaultKubernetesConfig() KubernetesConfig {
	return KubernetesConfig{QPS: 2500, Burst: 5000}
}

// Validate lists the fields that are wrong.
func (c KubernetesConfig) Validate() error {
	var found invalid.Fields
	found.If(c.QPS <= 0, "qps: must be positive, got %v", c.QPS)
	found.If(c.Burst <= 0, "burst: must be positive, got %d", c.Burst)
	return found.Err()
}
