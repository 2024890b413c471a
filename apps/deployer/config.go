package deployer

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config is the section deployer. How the pods of apps look is configured with those of tasks, in executor.pod.
type Config struct {
	// SharedNetwork says that all pods share one network, as on a laptop: two replicas cannot listen on one port. Replicas
	// then get no Service and no route. The server is one process on the same machine: when it starts, it waits for a report before
	// it sends requests to a replica. Default false.
	SharedNetwork bool `config:"sharedNetwork"`
	// GivesPorts says that the node gives each replica a port of its own on a shared network, whatever port its program asks for.
	// Replicas and revisions of an app then run side by side. Default false.
	GivesPorts bool `config:"givesPorts"`
	// Route is the way from outside of the cluster to apps, past the gateway of the API.
	Route Route `config:"route"`
	// Forwarder is the container alongside every app that makes programs reachable which listen on 127.0.0.1 only.
	Forwarder Forwarder `config:"forwarder"`
	// Workers is how many apps are worked on at once. Default 4.
	Workers int `config:"workers"`
	// Resync is how often the stream of apps is opened again, and so all apps are compared. Default 10 m.
	Resync time.Duration `config:"resync"`
	// MaxSilence is how long the apps service may send nothing, not even a heartbeat, before the stream is opened again.
	// Default 1 m.
	MaxSilence time.Duration `config:"maxSilence"`
	// CallTimeout bounds each call to the API server and to the apps service. Default 30 s.
	CallTimeout time.Duration `config:"callTimeout"`
	// Recheck is the time until an app is tried again whose objects the API server refuses. Default 30 s.
	Recheck time.Duration `config:"recheck"`
	// Backoff is the pause after a failure. Default 100 ms, at most 30 s.
	Backoff backoff.Config `config:"backoff"`
	// KeepLogs is how many logs of ending replicas are copied to the object store at once; further ones wait. 0 keeps none.
	// Default 8.
	KeepLogs int `config:"keepLogs"`
}

// Kinds of routes.
const (
	// RouteNone leaves apps to the gateway.
	RouteNone = "none"
	// RouteIngress creates an Ingress for each app.
	RouteIngress = "ingress"
	// RouteGateway creates an HTTPRoute of the Gateway API for each app.
	RouteGateway = "gateway"
)

// Route says how apps are reached from outside of the cluster under hosts of their own. Requests then do not pass the
// gateway of the API: they wake no app, count for no scaling, and are not checked.
type Route struct {
	// Kind is none, ingress or gateway. Default none.
	Kind string `config:"kind"`
	// Domain is the domain below which each app has a host, by its subdomain. Required unless kind is none.
	Domain string `config:"domain"`
	// IngressClass is the class of Ingresses; empty means the cluster's default.
	IngressClass string `config:"ingressClass"`
	// Gateway is the Gateway that HTTPRoutes belong to, as namespace/name. Required with kind gateway.
	Gateway string `config:"gateway"`
	// TLSSecret is the Kubernetes Secret with the certificate for Ingresses; empty means no TLS there.
	TLSSecret string `config:"tlsSecret"`
	// Annotations are on every route.
	Annotations map[string]string `config:"annotations"`
}

// Forwarder configures the container alongside every app. Its image is executor.pod.copilot.image; without one, there is none,
// and programs that listen on 127.0.0.1 cannot be reached. On a shared network there is none either.
type Forwarder struct {
	// CPU is its request. Default 10m.
	CPU string `config:"cpu"`
	// Memory is its request and its limit. Default 128Mi.
	Memory string `config:"memory"`
}

// sharesPorts reports whether replicas of a revision cannot run side by side.
func (c Config) sharesPorts(revision *enginev1.DesiredRevision) bool {
	return c.SharedNetwork && !c.GivesPorts && !revision.GetTakesPort()
}

// DefaultConfig suits one cluster.
func DefaultConfig() Config {
	return Config{
		Route: Route{Kind: RouteNone}, Forwarder: Forwarder{CPU: "10m", Memory: "128Mi"},
		Workers: 4, Resync: 10 * time.Minute, MaxSilence: stream.MaxSilence, CallTimeout: 30 * time.Second, Recheck: 30 * time.Second,
		Backoff: backoff.Config{First: 100 * time.Millisecond, Max: 30 * time.Second}, KeepLogs: 8,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.Section("route", c.Route.validate())
	for _, at := range []struct{ field, quantity string }{{"cpu", c.Forwarder.CPU}, {"memory", c.Forwarder.Memory}} {
		if _, err := resource.ParseQuantity(at.quantity); err != nil {
			found.Add("forwarder.%s: %q is not a quantity: %w", at.field, at.quantity, err)
		}
	}
	found.If(c.Workers <= 0, "workers: must be positive, got %d", c.Workers)
	found.If(c.Resync <= 0, "resync: must be positive, got %s", c.Resync)
	found.If(c.MaxSilence <= 0, "maxSilence: must be positive, got %s", c.MaxSilence)
	found.If(c.CallTimeout <= 0, "callTimeout: must be positive, got %s", c.CallTimeout)
	found.If(c.Recheck <= 0, "recheck: must be positive, got %s", c.Recheck)
	found.If(c.KeepLogs < 0, "keepLogs: must not be negative, got %d", c.KeepLogs)
	found.Section("backoff", c.Backoff.Validate())
	return found.Err()
}

func (r Route) validate() error {
	var found invalid.Fields
	switch r.Kind {
	case RouteNone:
		return found.Err()
	case RouteIngress, RouteGateway:
	default:
		found.Add("kind: must be none, ingress or gateway, got %q", r.Kind)
	}
	found.If(len(validation.IsDNS1123Subdomain(r.Domain)) > 0, "domain: %q is not a domain", r.Domain)
	if namespace, name := r.gateway(); r.Kind == RouteGateway && (namespace == "" || name == "") {
		found.Add("gateway: must be namespace/name")
	}
	return found.Err()
}
