package executor

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Absence is an enabled plugin that a cluster cannot serve now.
type Absence struct {
	Plugin string
	// Why says what the cluster does not have, or refuses.
	Why string
	// Install says what an administrator has to install; empty where the types exist and may not be read.
	Install string

	gone bool // its types do not exist; otherwise they cannot be read
}

// String says it in one sentence.
func (a Absence) String() string {
	text := fmt.Sprintf("plugin %s cannot run: %s", a.Plugin, a.Why)
	if a.Install != "" {
		text += "; install " + a.Install
	}
	return text
}

// same reports whether the same plugin cannot run as before, in whatever words.
func (a Absence) same(b Absence) bool { return a.Plugin == b.Plugin && a.gone == b.gone }

// Absences asks a cluster which of the enabled plugins it cannot serve. An error means that the cluster does not answer.
func Absences(ctx context.Context, config Config, cluster *rest.Config) ([]Absence, error) {
	return absencesOf(ctx, config, cluster, config.definitions())
}

func absencesOf(ctx context.Context, config Config, cluster *rest.Config, definitions []plugin.Definition) ([]Absence, error) {
	p, err := newProbe(config, cluster, definitions)
	if err != nil {
		return nil, err
	}
	return p.absences(ctx)
}

// probe asks a cluster whether it serves the types of plugins.
type probe struct {
	cluster     *rest.Config
	mapper      meta.RESTMapper // nil means one of its own
	scheme      *runtime.Scheme
	definitions []plugin.Definition
	namespaces  []string
}

func newProbe(config Config, cluster *rest.Config, definitions []plugin.Definition) (*probe, error) {
	scheme, err := newScheme(definitions)
	if err != nil {
		return nil, err
	}
	return &probe{cluster: cluster, scheme: scheme, definitions: definitions, namespaces: config.namespaces()}, nil
}

// absences asks for one object of each type.
func (p *probe) absences(ctx context.Context) ([]Absence, error) {
	if !slices.ContainsFunc(p.definitions, func(d plugin.Definition) bool { return len(d.Informers) > 0 }) {
		return nil, nil
	}
	api, types, err := p.clients()
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	var missing []Absence
	for _, definition := range p.definitions {
		for _, informer := range definition.Informers {
			kind, err := apiutil.GVKForObject(informer.Object, p.scheme)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: informer: %w", definition.Name, err)
			}
			why, gone := noKind(kind), true
			if definition.Install == "" || !lacks(ctx, types, kind) {
				if why, gone, err = p.served(ctx, api, kind); err != nil {
					return nil, fmt.Errorf("plugin %s: list %s: %w", definition.Name, kind.Kind, err)
				}
			}
			if why == "" {
				continue
			}
			one := Absence{Plugin: definition.Name, Why: why, gone: gone}
			if gone {
				one.Install = definition.Install
			}
			missing = append(missing, one)
			break
		}
	}
	return missing, nil
}

// clients are what the probe asks with. Both use one connection.
func (p *probe) clients() (client.Client, rest.Interface, error) {
	transport, err := rest.HTTPClientFor(p.cluster)
	if err != nil {
		return nil, nil, err
	}
	types, err := discovery.NewDiscoveryClientForConfigAndClient(p.cluster, transport)
	if err != nil {
		return nil, nil, err
	}
	api, err := client.New(p.cluster, client.Options{HTTPClient: transport, Scheme: p.scheme, Mapper: p.mapper})
	return api, types.RESTClient(), err
}

// lacks reports whether the cluster surely does not have a kind. Asking the mapper for such a kind would build the whole mapper
// again each time, which costs an idle server megabytes. Where the answer is something else, the list decides.
func lacks(ctx context.Context, types rest.Interface, kind schema.GroupVersionKind) bool {
	return apierrors.IsNotFound(types.Get().AbsPath("/apis", kind.Group, kind.Version).Do(ctx).Error())
}

func noKind(kind schema.GroupVersionKind) string {
	return fmt.Sprintf("the cluster has no kind %s in %s", kind.Kind, kind.GroupVersion())
}

// served says why objects of a kind cannot be listed; empty if they can. Gone means that the cluster does not have the kind.
func (p *probe) served(ctx context.Context, api client.Client, kind schema.GroupVersionKind) (why string, gone bool, err error) {
	for _, namespace := range p.namespaces {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := api.List(ctx, page, client.InNamespace(namespace), client.Limit(1))
		switch {
		case err == nil:
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			return noKind(kind), true, nil
		case apierrors.IsForbidden(err):
			return fmt.Sprintf("the executor requires the right to list and watch %s in %s: %v", kind.Kind, kind.GroupVersion(), err), false, nil
		default:
			return "", false, err
		}
	}
	return "", false, nil
}
