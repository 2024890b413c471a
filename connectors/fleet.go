package connectors

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// appPrefix begins the names of connectors that are apps. Those of the configuration have no slash.
	appPrefix = "apps/"
	// appsURL is where requests to apps go.
	appsURL = "http://in-process/apps/"
	// appsLoop is the lease of the loop that has the workers of all apps.
	appsLoop = "jobs of apps"
	// compareApps is how often the workers are compared with the apps.
	compareApps = time.Second
)

// Apps are the apps of type connector, and the way to them; apps/gateway has both.
type Apps interface {
	// Connectors are the routes of the apps of type connector. It reports false while they are not known.
	Connectors() ([]*enginev1.AppRoute, bool)
	// Do sends a request to an app: its path begins with /apps/PROJECT/DOMAIN/NAME. It wakes an app that sleeps.
	Do(r *http.Request) (*http.Response, error)
}

// toApps sends requests to apps as those of this service, also where a person asks for a log.
type toApps struct{ apps Apps }

// Do implements connect.HTTPClient.
func (t toApps) Do(r *http.Request) (*http.Response, error) {
	return t.apps.Do(r.WithContext(authz.AsService(r.Context(), "connectors")))
}

// fleet knows the connectors: those of the configuration, which come first, and apps.
type fleet struct {
	configured []*remote
	apps       Apps // nil where there are none
	shared     []string
	trusted    []string // get tokens of attempts
	maxAnswer  int

	mu   sync.Mutex
	made map[string]*remote // GUARDED_BY(mu): of apps, by name
	// wakes are tokens for the workers, by name.
	wakes map[string]chan struct{} // GUARDED_BY(mu)
}

func newFleet(config Config, apps Apps) (*fleet, error) {
	f := &fleet{apps: apps, shared: config.SharedApps, trusted: config.TaskTokenApps, maxAnswer: config.MaxAnswer, made: map[string]*remote{}, wakes: map[string]chan struct{}{}}
	for _, endpoint := range config.Endpoints {
		reached, err := dial(endpoint, config.MaxAnswer)
		if err != nil {
			return nil, err
		}
		f.configured = append(f.configured, reached)
	}
	return f, nil
}

// ofApps are the connectors that are apps: first those that serve their own project and domain only. It reports false while apps
// are not known.
func (f *fleet) ofApps() ([]*remote, bool) {
	if f.apps == nil {
		return nil, true
	}
	routes, known := f.apps.Connectors()
	if !known {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*remote, len(routes))
	made := make(map[string]*remote, len(routes))
	for i, route := range routes {
		id := route.GetId()
		name := appPrefix + id.GetProject() + "/" + id.GetDomain() + "/" + id.GetName()
		reached := remote{Endpoint: Endpoint{Name: name}}
		if known := f.made[name]; known != nil {
			reached = *known
		} else {
			reached.reach(toApps{f.apps}, appsURL+strings.TrimPrefix(name, appPrefix), f.maxAnswer)
		}
		reached.app = route
		reached.shared = slices.Contains(f.shared, strings.TrimPrefix(name, appPrefix))
		reached.TaskTokens = slices.Contains(f.trusted, strings.TrimPrefix(name, appPrefix))
		all[i], made[name] = &reached, &reached
	}
	f.made = made
	slices.SortFunc(all, func(a, b *remote) int {
		if a.shared != b.shared {
			if a.shared {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return all, true
}

// find returns a connector by its name; nil if it is not known.
func (f *fleet) find(name string) *remote {
	for _, one := range f.configured {
		if one.Name == name {
			return one
		}
	}
	if strings.HasPrefix(name, appPrefix) {
		all, _ := f.ofApps()
		for _, one := range all {
			if one.Name == name {
				return one
			}
		}
	}
	return nil
}

// wake is the token of a worker.
func (f *fleet) wake(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wakes[name] == nil {
		f.wakes[name] = make(chan struct{}, 1)
	}
	return f.wakes[name]
}

// woken are all tokens, by name.
func (f *fleet) woken() map[string]chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.wakes)
}

// forget drops the token of a worker that has ended.
func (f *fleet) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wakes, name)
}

// close closes connections that no call uses.
func (f *fleet) close() {
	for _, one := range f.configured {
		one.close()
	}
}

// workApps has a worker for each app of type connector. The worker of an app that is gone ends; its jobs stay for an app of the same name.
func (s *registry) workApps(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel(nil)
	ends := map[string]context.CancelFunc{}
	for {
		all, known := s.fleet.ofApps()
		here := map[string]bool{}
		for _, reached := range all {
			here[reached.Name] = true
			if ends[reached.Name] != nil {
				continue
			}
			its, end := context.WithCancel(ctx)
			ends[reached.Name] = end
			w := s.worker(reached)
			working.Go(func() {
				if err := w.work(its); err != nil && its.Err() == nil {
					cancel(err) // the loop begins again after a pause, as that of a connector of the configuration
				}
			})
		}
		for name, end := range ends {
			if known && !here[name] {
				end()
				delete(ends, name)
				s.fleet.forget(name)
			}
		}
		if clock.Sleep(ctx, s.deps.Clock, compareApps) != nil {
			for _, end := range ends {
				end()
			}
			return context.Cause(ctx)
		}
	}
}

// worker calls a connector.
func (s *registry) worker(reached *remote) *worker {
	return &worker{
		registry: s, remote: reached, wake: s.fleet.wake(reached.Name), silence: &silence{first: s.config.MinPoll, longest: s.config.MaxBackoff},
	}
}
