package ray_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/sharing"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// patience is how long a test waits for a cache.
const patience = time.Minute

// vault has every secret, and issues tokens that no cluster may have.
type vault struct{}

func (vault) GetSecretValues(_ context.Context, r *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	answer := &enginev1.GetSecretValuesResponse{PullConfig: []byte(`{"auths":{}}`)}
	for _, name := range r.GetNames() {
		answer.Values = append(answer.Values, &enginev1.SecretValue{Name: name, Value: []byte("value of " + name)})
	}
	return answer, nil
}

func (vault) IssueTaskToken(context.Context, *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error) {
	return &enginev1.IssueTaskTokenResponse{Token: "token-of-an-attempt"}, nil
}

// bench is a real API server with KubeRay's kinds. There is no KubeRay: tests write what it would.
type bench struct {
	t *testing.T
	*kubetest.Cluster
	clock *clock.Fake
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, Cluster: kubetest.New(t), clock: clock.NewFake(time.Now())}
	api, err := client.New(b.Config, client.Options{Scheme: kubetest.Scheme(t)}) // which knows the kinds that were just installed
	require.NoError(t, err)
	b.Client = api
	return b
}

// TestSharedClusters runs all tests of shared clusters, each in a namespace of its own.
func TestSharedClusters(t *testing.T) {
	cluster := kubetest.New(t)
	kubetest.Install(t, cluster, "ray.io_rayjobs.yaml")
	kubetest.Install(t, cluster, "ray.io_rayclusters.yaml")
	for name, test := range map[string]func(*testing.T){
		"attempts share a cluster":                attemptsShareACluster,
		"who shares a cluster":                    whoSharesACluster,
		"an idle cluster ends":                    anIdleClusterEnds,
		"only own clusters end":                   onlyOwnClustersEnd,
		"the cluster of a run ends with it":       theClusterOfARunEndsWithIt,
		"a cluster is not ended under an attempt": aClusterIsNotEndedUnderAnAttempt,
		"a lost cluster loses its attempts":       aLostClusterLosesItsAttempts,
		"a full project waits":                    aFullProjectWaits,
		"an attempt says what its cluster awaits": anAttemptSaysWhatItsClusterWaitsFor,
	} {
		t.Run(name, test)
	}
}

// start starts a process with the plugin, which remembers nothing.
func (b *bench) start() plugin.Plugin { return b.startWith(operated.DefaultConfig()) }

func (b *bench) startWith(own operated.Config) plugin.Plugin {
	config := podspec.DefaultConfig()
	config.Endpoint, config.Insecure = "flyte.example:8088", true
	return plugintest.Start(b.t, b.Cluster, ray.Definition(config, own), func(deps *plugin.Deps) {
		deps.Secrets, deps.Tokens, deps.Clock, deps.Installation = vault{}, vault{}, b.clock, b.Namespace
	})
}

// attempt creates the TaskAction of an action of a run, and returns its attempt.
func (b *bench) attempt(run, task string, change ...func(*plugin.Attempt)) *plugin.Attempt {
	b.t.Helper()
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"a0", "--inputs", "{{.input}}", "--tgz", "s3://code/" + run}
		c.Env = []*core.KeyValuePair{{Key: "OF_THE_TASK", Value: "1"}}
	})
	template.Id.Name, template.Type, template.Custom = "env."+task, ray.Name, &structpb.Struct{}
	require.NoError(b.t, protojson.Unmarshal([]byte(`{"rayCluster": {"workerGroupSpec": [{"groupName": "w", "replicas": 1}]}, "runtimeEnvYaml": "pip: [x]"}`), template.Custom))
	template.ReusePolicy = &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 1, Concurrency: 1, IdleTtl: durationpb.New(time.Minute)}
	template.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{
		{Key: "as-variable", MountRequirement: core.Secret_ENV_VAR}, {Key: "as-file", MountRequirement: core.Secret_FILE},
	}}
	made := plugintest.AttemptOf(template, func(spec *v1.TaskActionSpec) {
		spec.Run, spec.ShortName, spec.Env = run, task, []v1.EnvVar{{Name: "OF_THE_RUN", Value: run}}
	})
	made.Task.Namespace, made.Task.UID, made.Task.Name = b.Namespace, "", run+"-a0-"+strings.ToLower(task)
	made.Task.Labels = map[string]string{
		v1.LabelManaged: v1.ManagedValue, v1.LabelInstallation: b.Namespace, v1.LabelProject: "p", v1.LabelDomain: "d", v1.LabelRun: run, "team": run,
	}
	for _, do := range change {
		do(made)
	}
	made.Task.Labels[v1.LabelProject], made.Task.Labels[v1.LabelDomain] = made.Task.Spec.Project, made.Task.Spec.Domain
	made.Task.Spec.TaskTemplate = []byte("not read here")
	require.NoError(b.t, b.Client.Create(b.t.Context(), made.Task))
	return made
}

func blank(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: kind})
	return object
}

// launch advances an attempt until it has a RayJob.
func (b *bench) launch(p plugin.Plugin, attempt *plugin.Attempt) *unstructured.Unstructured {
	b.t.Helper()
	state, err := p.Advance(b.t.Context(), attempt)
	require.NoError(b.t, err)
	require.Nil(b.t, state.Failure)
	require.NotEmpty(b.t, state.Object, "%v", state)
	return b.job(p, attempt)
}

func (b *bench) job(p plugin.Plugin, attempt *plugin.Attempt) *unstructured.Unstructured {
	b.t.Helper()
	job := blank("RayJob")
	keeper, ok := p.(interface {
		Key(a *plugin.Attempt) client.ObjectKey
	})
	require.True(b.t, ok)
	require.NoError(b.t, b.Client.Get(b.t.Context(), keeper.Key(attempt), job))
	return job
}

// cluster is the name of the shared cluster of a RayJob.
func clusterOf(t *testing.T, job *unstructured.Unstructured) string {
	t.Helper()
	name, _, err := unstructured.NestedString(job.Object, "spec", "clusterSelector", "ray.io/cluster")
	require.NoError(t, err)
	require.NotEmpty(t, name)
	return name
}

func (b *bench) clusters() []unstructured.Unstructured {
	b.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayClusterList"})
	require.NoError(b.t, b.Client.List(b.t.Context(), list, client.InNamespace(b.Namespace)))
	return list.Items
}

// attemptsShareACluster: two tasks of one environment, at the same time and from two processes.
func attemptsShareACluster(t *testing.T) {
	b := newBench(t)
	processes := []plugin.Plugin{b.start(), b.start()}
	attempts := []*plugin.Attempt{b.attempt("r1", "first"), b.attempt("r2", "second"), b.attempt("r3", "first"), b.attempt("r4", "second")}
	var asking sync.WaitGroup
	for i, attempt := range attempts {
		asking.Go(func() { _, _ = processes[i%2].Advance(t.Context(), attempt) }) // the next call is the one that counts
	}
	asking.Wait()
	var names []string
	for i, attempt := range attempts {
		job := b.launch(processes[i%2], attempt)
		names = append(names, clusterOf(t, job))
		require.Equal(t, names[0], names[i])
		require.NotContains(t, job.Object["spec"], "rayClusterSpec")
	}
	made := b.clusters()
	require.Len(t, made, 1)
	cluster := made[0]
	require.Equal(t, names[0], cluster.GetName())
	require.Empty(t, cluster.GetOwnerReferences(), "it does not end with an attempt")
	require.Equal(t, "d", cluster.GetLabels()[v1.LabelDomain])
	require.NotContains(t, cluster.GetLabels(), v1.LabelRun)
	require.Equal(t, string(cluster.GetUID()), b.job(processes[0], attempts[0]).GetLabels()[rayclusters.LabelUID])

	// Nothing of an attempt is in it: not its names, its variables, its labels or its token.
	text, err := json.Marshal(cluster.Object["spec"])
	require.NoError(t, err)
	require.Contains(t, string(text), "OF_THE_TASK")
	for _, word := range []string{"OF_THE_RUN", "ACTION_NAME", "RUN_NAME", "_U_RUN_BASE", "r1", "AS_VARIABLE", "TOKEN", "tgz", "task-action"} {
		require.NotContains(t, string(text), word)
	}
	secrets := &corev1.SecretList{}
	require.NoError(t, b.Client.List(t.Context(), secrets, client.InNamespace(b.Namespace)))
	of := 0
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if owner := secret.OwnerReferences[0]; owner.Kind == "RayCluster" {
			of++
			require.Equal(t, cluster.GetUID(), owner.UID)
			require.Contains(t, string(text), secret.Name)
			require.NotContains(t, secret.Data, "flyte.task-token")
			require.NotContains(t, secret.Data, "as-variable")
		}
	}
	require.Equal(t, 4, of, "the file and the credentials of the registry, for head and workers")

	// The pod that submits has all of it.
	submits, _, err := unstructured.NestedMap(b.job(processes[1], attempts[1]).Object, "spec", "submitterPodTemplate", "spec")
	require.NoError(t, err)
	text, err = json.Marshal(submits)
	require.NoError(t, err)
	for _, word := range []string{"OF_THE_RUN", "ACTION_NAME", "AS_VARIABLE", "flyte.task-token", "s3://code/r2", `{\"pip\":[\"x\"]}`} {
		require.Contains(t, string(text), word)
	}
}

// whoSharesACluster: whatever makes a difference to the cluster, or to who may use it, gives it another name.
func whoSharesACluster(t *testing.T) {
	b := newBench(t)
	config := operated.DefaultConfig()
	config.MaxSharedRayClustersPerProject = 0
	p := b.startWith(config)
	name := func(run string, change func(*plugin.Attempt)) string {
		return clusterOf(t, b.launch(p, b.attempt(run, "f", func(a *plugin.Attempt) { change(a) })))
	}
	nothing := name("base", func(*plugin.Attempt) {})
	for what, change := range map[string]func(*plugin.Attempt){
		"second-attempt": func(a *plugin.Attempt) { plugintest.Second(a); a.SystemFailures = 1 },
		"metadata": func(a *plugin.Attempt) {
			a.Template.Metadata = &core.TaskMetadata{Discoverable: true, DiscoveryVersion: "2"}
		},
		"version": func(a *plugin.Attempt) { a.Template.Id.Version = "v2" },
	} {
		require.Equal(t, nothing, name(what, change), what)
	}
	seen := map[string]string{nothing: "base"}
	for what, change := range map[string]func(*plugin.Attempt){
		"project":     func(a *plugin.Attempt) { a.Task.Spec.Project = "other" },
		"domain":      func(a *plugin.Attempt) { a.Task.Spec.Domain = "other" },
		"environment": func(a *plugin.Attempt) { a.Template.Id.Name = "other.f" },
		"image":       func(a *plugin.Attempt) { a.Template.GetContainer().Image = "other" },
		"variables":   func(a *plugin.Attempt) { a.Template.GetContainer().Env[0].Value = "2" },
		"idle":        func(a *plugin.Attempt) { a.Template.ReusePolicy.IdleTtl = durationpb.New(time.Hour) },
		"secret":      func(a *plugin.Attempt) { a.Template.SecurityContext.Secrets[0].Key = "another" },
		"workers": func(a *plugin.Attempt) {
			a.Template.Custom = structOf(t, `{"rayCluster": {"workerGroupSpec": [{"groupName": "w", "replicas": 2}]}}`)
		},
		"queue": func(a *plugin.Attempt) { a.Task.Labels["kueue.x-k8s.io/queue-name"] = "cpus" },
		"run-1": func(a *plugin.Attempt) { a.Template.ReusePolicy.Scope = core.ReusePolicy_RUN },
		"run-2": func(a *plugin.Attempt) { a.Template.ReusePolicy.Scope = core.ReusePolicy_RUN },
	} {
		got := name(what, change)
		require.NotContains(t, seen, got, "%s shares with %s", what, seen[got])
		seen[got] = what
	}
	for _, cluster := range b.clusters() {
		if seen[cluster.GetName()] == "queue" {
			require.Equal(t, "cpus", cluster.GetLabels()["kueue.x-k8s.io/queue-name"])
		}
	}
}

func structOf(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	result := &structpb.Struct{}
	require.NoError(t, protojson.Unmarshal([]byte(text), result))
	return result
}

// sweep does what a process does that looks for idle clusters, without memory.
func (b *bench) sweep() {
	b.t.Helper()
	keeper := sharing.New(plugin.Deps{Live: b.Client, Writer: b.Client, Clock: b.clock, Installation: b.Namespace}, sharing.Limits{})
	require.NoError(b.t, keeper.Sweep(b.t.Context()))
}

// remove ends an attempt.
func (b *bench) remove(p plugin.Plugin, attempt *plugin.Attempt) {
	b.t.Helper()
	job := b.job(p, attempt)
	require.Eventually(b.t, func() bool { // the cache may not know the RayJob yet
		require.NoError(b.t, p.Remove(b.t.Context(), attempt))
		return b.Client.Get(b.t.Context(), client.ObjectKeyFromObject(job), blank("RayJob")) != nil
	}, patience, 10*time.Millisecond)
}

// anIdleClusterEnds after its time, however often processes start again, and not while an attempt uses it.
func anIdleClusterEnds(t *testing.T) {
	b := newBench(t)
	p := b.start()
	first, second := b.attempt("r1", "f"), b.attempt("r2", "g")
	b.launch(p, first)
	b.launch(p, second)
	b.clock.Step(time.Hour)
	b.sweep()
	require.Len(t, b.clusters(), 1, "it is in use")
	b.remove(p, first)
	b.clock.Step(time.Hour)
	b.sweep()
	require.Len(t, b.clusters(), 1, "an attempt uses it")
	b.remove(p, second)
	b.clock.Step(50 * time.Second)
	b.sweep()
	require.Len(t, b.clusters(), 1, "its time is not over")

	third := b.attempt("r3", "f")
	b.launch(p, third)
	b.remove(p, third)
	b.clock.Step(50 * time.Second)
	b.sweep()
	require.Len(t, b.clusters(), 1, "its time begins again with each attempt")
	b.clock.Step(-time.Hour)
	b.sweep()
	require.Len(t, b.clusters(), 1, "the clock was put back")
	b.clock.Step(50 * time.Second)
	b.sweep()
	require.Len(t, b.clusters(), 1, "its time is counted from then")
	b.clock.Step(11 * time.Second)
	b.sweep()
	require.Empty(t, b.clusters())
}

// onlyOwnClustersEnd: neither those of another installation nor those that someone else made.
func onlyOwnClustersEnd(t *testing.T) {
	b := newBench(t)
	for name, labels := range map[string]map[string]string{
		"made-by-hand": nil, "of-an-attempt": {v1.LabelManaged: v1.ManagedValue, v1.LabelInstallation: b.Namespace},
		"of-another": {v1.LabelManaged: v1.ManagedValue, v1.LabelInstallation: "theirs", rayclusters.LabelCluster: "of-another"},
	} {
		cluster := blank("RayCluster")
		cluster.SetNamespace(b.Namespace)
		cluster.SetName(name)
		cluster.SetLabels(labels)
		cluster.SetAnnotations(map[string]string{"flyte.org/last-used": "2020-01-01T00:00:00Z", "flyte.org/idle-ttl-seconds": "30"})
		cluster.Object["spec"] = map[string]any{"headGroupSpec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "h", "image": "i"}},
		}}}}
		require.NoError(t, b.Client.Create(t.Context(), cluster))
	}
	b.sweep()
	require.Len(t, b.clusters(), 3)
}

// theClusterOfARunEndsWithIt, before its time.
func theClusterOfARunEndsWithIt(t *testing.T) {
	b := newBench(t)
	p := b.start()
	attempt := b.attempt("r1", "f", func(a *plugin.Attempt) { a.Template.ReusePolicy.Scope = core.ReusePolicy_RUN })
	b.launch(p, attempt)
	b.remove(p, attempt)
	b.sweep()
	require.Len(t, b.clusters(), 1, "the run may have more for it")
	require.NoError(t, b.Client.Delete(t.Context(), attempt.Task))
	b.sweep()
	require.Empty(t, b.clusters())
}

// lateReader lets something happen after the RayJobs of a cluster were listed.
type lateReader struct {
	client.Client
	then func()
}

func (l *lateReader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	err := l.Client.List(ctx, into, options...)
	if list, ok := into.(*metav1.PartialObjectMetadataList); ok && list.Kind == "RayJobList" && l.then != nil {
		l.then()
		l.then = nil
	}
	return err
}

// aClusterIsNotEndedUnderAnAttempt that begins while a process decides that the cluster is idle.
func aClusterIsNotEndedUnderAnAttempt(t *testing.T) {
	b := newBench(t)
	p := b.start()
	attempt := b.attempt("r1", "f")
	b.launch(p, attempt)
	b.remove(p, attempt)
	b.clock.Step(time.Hour)
	next := b.attempt("r2", "f")
	reader := &lateReader{Client: b.Client, then: func() { b.launch(p, next) }}
	keeper := sharing.New(plugin.Deps{Live: reader, Writer: b.Client, Clock: b.clock, Installation: b.Namespace}, sharing.Limits{})
	require.NoError(t, keeper.Sweep(t.Context()))
	require.Nil(t, reader.then)
	require.Len(t, b.clusters(), 1)
}

// aLostClusterLosesItsAttempts to the system, and the next attempt gets another one.
func aLostClusterLosesItsAttempts(t *testing.T) {
	b := newBench(t)
	p := b.start()
	attempt := b.attempt("r1", "f")
	b.launch(p, attempt)
	old := b.clusters()[0]
	require.NoError(t, b.Client.Delete(t.Context(), &old))
	var state plugin.State
	require.Eventually(t, func() bool {
		b.clock.Step(10 * time.Second) // what was read of the cluster is old
		var err error
		state, err = p.Advance(t.Context(), attempt)
		require.NoError(t, err)
		return state.Failure != nil
	}, patience, 10*time.Millisecond)
	require.False(t, state.Failure.IsUsers())
	require.True(t, state.Failure.Recoverable)
	require.Contains(t, state.Failure.Message, old.GetName())
	b.remove(p, attempt)

	again := *attempt
	b.launch(p, plugintest.Second(&again))
	require.Len(t, b.clusters(), 1)
	require.NotEqual(t, old.GetUID(), b.clusters()[0].GetUID())
}
