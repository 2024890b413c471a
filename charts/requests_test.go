package charts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// recorder notes what a client asks the API server for, in the words of RBAC: "own get secrets". The scope is own for the
// namespace of the release and else tasks; cluster-wide requests are of the latter.
type recorder struct {
	own string

	mu      sync.Mutex
	seen    map[string]bool // GUARDED_BY(mu)
	refused map[string]int  // GUARDED_BY(mu): by request, those that were answered with 403
}

// watch returns a copy of the connection whose requests are noted.
func (r *recorder) watch(config *rest.Config) *rest.Config {
	watched := rest.CopyConfig(config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil {
				r.note(request, response.StatusCode)
			}
			return response, err
		})
	})
	return watched
}

func (r *recorder) note(request *http.Request, status int) {
	right := r.right(request)
	if right == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[right] = true
	if status == http.StatusForbidden {
		r.refused[right]++
	}
}

// has reports whether something was asked for.
func (r *recorder) has(right string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[right]
}

// right says what a request needs; empty for discovery, which everybody may do.
func (r *recorder) right(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group, skip := "", 2 // api/v1/...
	if parts[0] == "apis" {
		skip = 3 // apis/GROUP/VERSION/...
	}
	if (parts[0] != "api" && parts[0] != "apis") || len(parts) <= skip {
		return ""
	}
	if parts[0] == "apis" {
		group = "." + parts[1]
	}
	scope := "tasks"
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 1 {
		if parts[1] == r.own {
			scope = "own"
		}
		if len(parts) > 2 {
			parts = parts[2:]
		}
	}
	resource := parts[0] + group
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	query := request.URL.Query()
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "get",
	}[request.Method]
	switch {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		verb = "watch"
	case len(parts) == 1 && verb == "get":
		verb = "list"
	case len(parts) == 1 && verb == "delete":
		verb = "deletecollection"
	}
	return fmt.Sprintf("%s %s %s", scope, verb, resource)
}

// granted are the rights of rules, in the same words.
func granted(scope string, rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, sub, _ := strings.Cut(resource, "/")
				if group != "" {
					name += "." + group
				}
				if sub != "" {
					name += "/" + sub
				}
				for _, verb := range rule.Verbs {
					all = append(all, fmt.Sprintf("%s %s %s", scope, verb, name))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
