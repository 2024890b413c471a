package pod_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

func pods() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

// cluster is an API server that knows pods only, with a cache that tests fill by hand.
type cluster struct {
	client.Writer
	pods      map[string]*corev1.Pod // at the API server
	created   int
	deleted   []types.UID
	refuse    error
	templates templates
	reads     int // at the API server
}

// view reads from the cluster, or from a cache of it.
type view struct {
	client.Reader
	read      func(name string) *corev1.Pod
	templates *templates
}

// templates are the PodTemplates of the cluster, as namespace/name.
type templates struct {
	all   map[string]*corev1.PodTemplate
	reads int
	fail  error
}

func (c *templates) get(key client.ObjectKey, into *corev1.PodTemplate) error {
	c.reads++
	found := c.all[key.String()]
	switch {
	case c.fail != nil:
		return c.fail
	case found == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "podtemplates"}, key.Name)
	}
	found.DeepCopyInto(into)
	return nil
}

func (v view) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if template, ok := into.(*corev1.PodTemplate); ok {
		return v.templates.get(key, template)
	}
	found := v.read(key.Name)
	if found == nil {
		return apierrors.NewNotFound(pods(), key.Name)
	}
	found.DeepCopyInto(into.(*corev1.Pod))
	return nil
}

func (c *cluster) live() view {
	return view{templates: &c.templates, read: func(name string) *corev1.Pod {
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
	c.deleted = append(c.deleted, object.GetUID())
	delete(c.pods, object.GetName())
	return nil
}

// blobs is an object store in memory.
type blobs struct {
	objects map[string][]byte
	asked   int
	down    error
}

func (b *blobs) ReadAll(_ context.Context, uri string, limit int64) ([]byte, error) {
	b.asked++
	body, found := b.objects[uri]
	switch {
	case b.down != nil:
		return nil, b.down
	case !found:
		return nil, fmt.Errorf("%s: %w", uri, blobstore.ErrNotExist)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("%s: %w", uri, blobstore.ErrTooLarge)
	}
	return body, nil
}

func (b *blobs) Stat(ctx context.Context, uri string) (blobstore.Info, error) {
	body, err := b.ReadAll(ctx, uri, 1<<40)
	return blobstore.Info{Size: int64(len(body))}, err
}

// bench is a plugin in front of a fake cluster.
type bench struct {
	*cluster
	blobs  *blobs
	cache  map[string]*corev1.Pod
	clock  *clock.Fake
	plugin *pod.Plugin
}

func newBench(t *testing.T, change ...func(*pod.Config)) *bench {
	config := pod.DefaultConfig()
	for _, c := range change {
		c(&config)
	}
	b := &bench{
		cluster: &cluster{pods: map[string]*corev1.Pod{}},
		blobs:   &blobs{objects: map[string][]byte{}},
		cache:   map[string]*corev1.Pod{},
		clock:   clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	var err error
	b.plugin, err = pod.New(config, pod.Deps{
		Cache: view{read: func(name string) *corev1.Pod { return b.cache[name] }}, Live: b.live(), Writer: b.cluster, Store: b.blobs, Clock: b.clock,
	})
	require.NoError(t, err)
	return b
}

func attemptOf(template *core.TaskTemplate, change ...func(*v1.TaskActionSpec)) *plugin.Attempt {
	start := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 60_000, time.UTC))
	task := &v1.TaskAction{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "r1-a0-0123abcd", UID: "task-uid",
			Labels:      map[string]string{v1.LabelManaged: v1.ManagedValue, v1.LabelRun: "r1", "team": "ml"},
			Annotations: map[string]string{"note": "x"},
		},
		Spec: v1.TaskActionSpec{
			UID: 1, Project: "p", Domain: "d", Run: "r1", Action: "a0", ShortName: "main",
			InputURI: "/base/p/d/r1/inputs", RunOutputBase: "/base/p/d/r1/", Attempt: 1, RunStartTime: &start,
		},
	}
	for _, c := range change {
		c(&task.Spec)
	}
	return &plugin.Attempt{Task: task, Template: template, Number: 1, Dir: "/base/p/d/r1/a0/1", MayLaunch: true}
}

func second(attempt *plugin.Attempt) *plugin.Attempt {
	attempt.Number, attempt.Dir, attempt.PreviousDir = 2, "/base/p/d/r1/a0/2", "/base/p/d/r1/a0/1"
	return attempt
}

func containerTask(change ...func(*core.Container)) *core.TaskTemplate {
	container := &core.Container{Image: "image"}
	for _, c := range change {
		c(container)
	}
	return &core.TaskTemplate{
		Id: &core.Identifier{Project: "tp", Domain: "td", Name: "env.main", Version: "v1"}, Type: "python",
		Target: &core.TaskTemplate_Container{Container: container},
	}
}

// build is the pod that the plugin makes of an attempt.
func (b *bench) build(t *testing.T, attempt *plugin.Attempt) *corev1.Pod {
	t.Helper()
	state, err := b.plugin.Advance(context.Background(), attempt)
	require.NoError(t, err)
	require.Nil(t, state.Failure, "%v", state.Failure)
	return b.pods[v1.PodName(attempt.Task.Name, attempt.Number)]
}
