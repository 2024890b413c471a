package plugintest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// process is an executor's process as a plugin sees it: a plugin that remembers nothing yet, with a cache of its own.
type process struct {
	plugin.Plugin
	writer *writer
}

// Start creates a plugin in a process of its own, which stops with the test. The API server refuses fields that it does not know. Change
// completes what the plugin gets; nil for nothing.
func Start(t *testing.T, cluster *kubetest.Cluster, definition plugin.Definition, change func(*plugin.Deps)) plugin.Plugin {
	t.Helper()
	return startProcess(t, cluster, definition, change).Plugin
}

// startProcess creates the plugin in a process that stops with the test.
func startProcess(t *testing.T, cluster *kubetest.Cluster, definition plugin.Definition, change func(*plugin.Deps)) *process {
	t.Helper()
	scheme := schemeOf(t, definition)
	objects := map[client.Object]cache.ByObject{}
	for _, informer := range definition.Informers {
		objects[informer.Object] = cache.ByObject{Transform: informer.Strip}
	}
	cached, err := cache.New(cluster.Config, cache.Options{
		Scheme: scheme, ByObject: objects, DefaultNamespaces: map[string]cache.Config{cluster.Namespace: {}},
	})
	require.NoError(t, err)
	for _, index := range definition.Indexes {
		require.NoError(t, cached.IndexField(t.Context(), index.Object, index.Field, index.Values))
	}
	for _, informer := range append([]plugin.Informer{{Object: &corev1.Pod{}}}, definition.Informers...) {
		_, err := cached.GetInformer(t.Context(), informer.Object, cache.BlockUntilSynced(false))
		require.NoError(t, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = cached.Start(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	require.True(t, cached.WaitForCacheSync(ctx))

	live, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	// A field that the API server would drop is an error.
	p := &process{writer: &writer{Client: client.WithFieldValidation(live, metav1.FieldValidationStrict)}}
	deps := plugin.Deps{Cache: cached, Live: live, Writer: p.writer, Store: &Blobs{}, Clock: clock.System{}}
	if change != nil {
		change(&deps)
	}
	p.Plugin, err = definition.New(deps)
	require.NoError(t, err)
	return p
}

// schemeOf knows the built-in kinds, TaskActions and the plugin's own kinds.
func schemeOf(t *testing.T, definition plugin.Definition) *runtime.Scheme {
	t.Helper()
	scheme := kubetest.Scheme(t)
	if definition.AddToScheme != nil {
		require.NoError(t, definition.AddToScheme(scheme))
	}
	return scheme
}

// writer notes what a plugin creates, and can refuse it.
type writer struct {
	client.Client

	mu      sync.Mutex
	refuse  error           // GUARDED_BY(mu): the answer to each creation; nothing is created
	lose    error           // GUARDED_BY(mu): the answer to each creation, after the object was created
	created []client.Object // GUARDED_BY(mu)
}

// Create implements client.Writer.
func (w *writer) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	if err := w.Client.Create(ctx, object, options...); err != nil {
		return err
	}
	made, _ := object.DeepCopyObject().(client.Object)
	w.created = append(w.created, made)
	return w.lose
}

func (w *writer) set(refuse, lose error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse, w.lose = refuse, lose
}

// made are the objects that were created.
func (w *writer) made() []client.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]client.Object(nil), w.created...)
}
