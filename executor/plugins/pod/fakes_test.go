package pod_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

func pods() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

// cluster is an API server that knows pods only, with a cache that tests fill by hand.
type cluster struct {
	client.Writer
	pods    map[string]*corev1.Pod // at the API server
	created int
	deleted []types.UID
	refuse  error
	reads   int               // of pods, at the API server
	secrets map[string][]byte // of every Secret
}

// view reads pods from the cluster, or from a cache of it.
type view struct {
	client.Reader
	read    func(name string) *corev1.Pod
	cluster *cluster // nil for a cache
}

func (v view) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if secret, ok := into.(*corev1.Secret); ok {
		secret.Data = v.cluster.secrets
		return nil
	}
	found := v.read(key.Name)
	if found == nil {
		return apierrors.NewNotFound(pods(), key.Name)
	}
	found.DeepCopyInto(into.(*corev1.Pod))
	return nil
}

func (c *cluster) live() view {
	return view{cluster: c, read: func(name string) *corev1.Pod {
		c.reads++
		return c.pods[name]
	}}
}

func (c *cluster) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if c.refuse != nil {
		return c.refuse
	}
	made := object.(*corev1.Pod)
	if c.pods[made.Name] != nil {
		return apierrors.NewAlreadyExists(pods(), made.Name)
	}
	c.created++
	made.UID = types.UID(made.Name + "-uid-" + string(rune('a'+c.created)))
	c.pods[made.Name] = made.DeepCopy()
	return nil
}

func (c *cluster) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	if c.refuse != nil {
		return c.refuse
	}
	c.deleted = append(c.deleted, object.GetUID())
	delete(c.pods, object.GetName())
	return nil
}

// bench is a plugin in front of a fake cluster.
type bench struct {
	*cluster
	cache  map[string]*corev1.Pod
	clock  *clock.Fake
	plugin *pod.Plugin
}

func newBench(t *testing.T, change ...func(*podspec.Config)) *bench {
	return newBenchSeen(t, nil, change...)
}

// newBenchSeen has a cache that tells how far it is.
func newBenchSeen(t *testing.T, seen plugin.Seen, change ...func(*podspec.Config)) *bench {
	config := podspec.DefaultConfig()
	for _, c := range change {
		c(&config)
	}
	b := &bench{
		cluster: &cluster{pods: map[string]*corev1.Pod{}},
		cache:   map[string]*corev1.Pod{},
		clock:   clock.NewFake(plugintest.Now()),
	}
	var err error
	b.plugin, err = pod.New(config, plugin.Deps{
		Cache: view{read: func(name string) *corev1.Pod { return b.cache[name] }}, Seen: seen, Live: b.live(), Writer: b.cluster, Store: &plugintest.Blobs{}, Clock: b.clock,
	})
	require.NoError(t, err)
	return b
}

// build returns the pod that the plugin creates for an attempt.
func (b *bench) build(t *testing.T, attempt *plugin.Attempt) *corev1.Pod {
	t.Helper()
	state, err := b.plugin.Advance(context.Background(), attempt)
	require.NoError(t, err)
	require.Nil(t, state.Failure, "%v", state.Failure)
	return b.pods[v1.PodName(attempt.Task.Name, attempt.Number)]
}
