package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// presence finds out which plugins the cluster can serve. A manager cannot start, or stops, when an informer's type is
// missing: so it gets only the types that exist, and is replaced when others appear or disappear. The shards of a process
// share one presence, so that each type is probed once.
type presence struct {
	service     *Service
	scheme      *runtime.Scheme
	definitions []plugin.Definition

	mu      sync.Mutex
	at      time.Time // GUARDED_BY(mu): of the last look; zero before the first
	missing []absence // GUARDED_BY(mu): as of then
}

// absence is a plugin that cannot run now.
type absence struct {
	plugin string
	why    string
	gone   bool // its types do not exist; otherwise they cannot be read
}

// same reports whether the same plugin cannot run as before, in whatever words.
func (a absence) same(b absence) bool { return a.plugin == b.plugin && a.gone == b.gone }

// changedError says that the plugins that can run are no longer those of the manager.
type changedError struct{ words string }

func (e *changedError) Error() string { return "the types of plugins changed: " + e.words }

func newPresence(service *Service, definitions []plugin.Definition) (*presence, error) {
	scheme, err := newScheme(definitions)
	if err != nil {
		return nil, err
	}
	return &presence{service: service, scheme: scheme, definitions: definitions}, nil
}

// look returns the definitions of the plugins that can run and the plugins that cannot. An earlier answer counts while it is
// younger than maxAge.
func (p *presence) look(ctx context.Context, maxAge time.Duration) ([]plugin.Definition, []absence, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.service.deps.Clock.Now(); p.at.IsZero() || now.Sub(p.at) >= maxAge || now.Before(p.at) {
		missing, err := p.probe(ctx)
		if err != nil {
			return nil, nil, err
		}
		p.at, p.missing = now, missing
	}
	var present []plugin.Definition
	for _, definition := range p.definitions {
		if !slices.ContainsFunc(p.missing, func(one absence) bool { return one.plugin == definition.Name }) {
			present = append(present, definition)
		}
	}
	return present, slices.Clone(p.missing), nil
}

// awaitChange returns a *changedError when other plugins than these cannot run, and nil when ctx ends.
func (p *presence) awaitChange(ctx context.Context, missing []absence) error {
	interval := p.service.config.Plugins.Probe
	for clock.Sleep(ctx, p.service.deps.Clock, interval) == nil {
		_, now, err := p.look(ctx, interval/2) // half: the shards look at about the same time
		switch {
		case err != nil: // Nothing is known. An API server that does not answer says nothing about types.
		case !slices.EqualFunc(now, missing, absence.same):
			return &changedError{words: words(now)}
		}
	}
	return nil
}

func words(missing []absence) string {
	if len(missing) == 0 {
		return "all plugins can run"
	}
	reasons := make([]string, len(missing))
	for i, one := range missing {
		reasons[i] = one.why
	}
	return strings.Join(reasons, "; ")
}

// probe asks the cluster for one object of each type.
func (p *presence) probe(ctx context.Context) ([]absence, error) {
	if !slices.ContainsFunc(p.definitions, func(d plugin.Definition) bool { return len(d.Informers) > 0 }) {
		return nil, nil
	}
	api, err := client.New(p.service.kube, client.Options{Scheme: p.scheme, Mapper: p.service.mapper})
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	var missing []absence
	for _, definition := range p.definitions {
		for _, informer := range definition.Informers {
			kind, err := apiutil.GVKForObject(informer.Object, p.scheme)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: informer: %w", definition.Name, err)
			}
			why, gone, err := p.served(ctx, api, kind)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: list %s: %w", definition.Name, kind.Kind, err)
			}
			if why == "" {
				continue
			}
			if gone && definition.Install != "" {
				why += "; install " + definition.Install
			}
			missing = append(missing, absence{plugin: definition.Name, why: fmt.Sprintf("plugin %s cannot run: %s", definition.Name, why), gone: gone})
			break
		}
	}
	return missing, nil
}

// served says why objects of a kind cannot be listed; empty if they can. Gone means that the cluster does not have the kind.
func (p *presence) served(ctx context.Context, api client.Client, kind schema.GroupVersionKind) (why string, gone bool, err error) {
	for _, namespace := range p.service.namespaces() {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := api.List(ctx, page, client.InNamespace(namespace), client.Limit(1))
		switch {
		case err == nil:
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			return fmt.Sprintf("the cluster has no kind %s in %s", kind.Kind, kind.GroupVersion()), true, nil
		case apierrors.IsForbidden(err):
			return fmt.Sprintf("the executor requires the right to list and watch %s in %s: %v", kind.Kind, kind.GroupVersion(), err), false, nil
		default:
			return "", false, err
		}
	}
	return "", false, nil
}
