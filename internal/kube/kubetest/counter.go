package kubetest

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Counter counts the requests that a client made.
type Counter struct {
	mu     sync.Mutex
	counts map[string]int // GUARDED_BY(mu): by "VERB resource[/subresource]"
}

// Counted is a copy of the configuration whose clients are counted.
func Counted(config *rest.Config) (*rest.Config, *Counter) {
	counter := &Counter{counts: map[string]int{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			counter.add(request)
			return next.RoundTrip(request)
		})
	})
	return counted, counter
}

// Writes is the number of writes of one resource and its subresources, such as "taskactions".
func (c *Counter) Writes(resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for key, n := range c.counts {
		verb, path, _ := strings.Cut(key, " ")
		if name, _, _ := strings.Cut(path, "/"); verb != http.MethodGet && name == resource {
			total += n
		}
	}
	return total
}

// Snapshot is a copy of all counts, by "VERB resource[/subresource]".
func (c *Counter) Snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := make(map[string]int, len(c.counts))
	for key, n := range c.counts {
		result[key] = n
	}
	return result
}

func (c *Counter) add(request *http.Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	// api/v1/... or apis/<group>/<version>/...
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) <= skip {
		return
	}
	if parts = parts[skip:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	key := request.Method + " " + parts[0]
	if len(parts) > 2 {
		key += "/" + parts[2]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key]++
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
