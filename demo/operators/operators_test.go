package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// programs are what listens on this machine, as far as operators ask.
type programs struct {
	mu      sync.Mutex
	listens bool
	answers map[string]string // GUARDED_BY(mu): by path
	posted  []string          // GUARDED_BY(mu): paths
}

func (p *programs) Post(_ context.Context, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	p.posted = append(p.posted, "/"+path)
}

func (p *programs) start(answers map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listens, p.answers = true, answers
}

func (p *programs) Listens(_ context.Context, address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listens && (strings.HasSuffix(address, ":8786") || strings.HasSuffix(address, ":6379") || strings.HasSuffix(address, ":10001"))
}

func (p *programs) Get(_ context.Context, url string) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	body, ok := p.answers["/"+path]
	return []byte(body), ok
}

// bench is an API server on which one operator works.
type bench struct {
	*kubetest.Cluster

	t        *testing.T
	name     string
	objects  dynamic.ResourceInterface
	programs *programs
	running  *Operators
}

func newBench(t *testing.T, name string) *bench {
	t.Helper()
	b := &bench{Cluster: kubetest.New(t), t: t, name: name, programs: &programs{}}
	b.start()
	t.Cleanup(func() { b.stop() })
	client, err := dynamic.NewForConfig(b.Config)
	require.NoError(t, err)
	for _, one := range all(Config{}, nil) {
		if one.name == name {
			b.objects = client.Resource(one.object.GroupVersion().WithResource(one.plural)).Namespace(b.Namespace)
		}
	}
	return b
}

func (b *bench) start() {
	b.t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(b.t)).Level(zerolog.WarnLevel)
	b.running = New(Config{Kinds: []string{b.name}, PrivateFiles: true}, b.Config, log, clock.System{})
	b.running.network = b.programs
	require.NoError(b.t, b.running.Start(b.t.Context()))
}

func (b *bench) stop() {
	b.t.Helper()
	require.NoError(b.t, b.running.Stop(context.Background()))
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, object.UnmarshalJSON(raw))
	return object
}

// create creates an object, as the executor's plugin would.
func (b *bench) create(text string) string {
	b.t.Helper()
	made, err := b.objects.Create(b.t.Context(), objectOf(b.t, text), metav1.CreateOptions{})
	require.NoError(b.t, err)
	return made.GetName()
}

func (b *bench) eventually(what string, holds func() bool) {
	b.t.Helper()
	require.Eventually(b.t, holds, 2*time.Minute, 20*time.Millisecond, what)
}

// status waits until a field of an object's status has a value.
func (b *bench) status(object, field, want string) {
	b.t.Helper()
	got := ""
	b.eventually(field+" "+want, func() bool {
		found, err := b.objects.Get(b.t.Context(), object, metav1.GetOptions{})
		require.NoError(b.t, err)
		got = text(found.Object, "status", field)
		return got == want
	})
}

// condition waits until an object has a condition, and returns its message.
func (b *bench) condition(object, kind string) string {
	b.t.Helper()
	message := ""
	b.eventually(kind, func() bool {
		found, err := b.objects.Get(b.t.Context(), object, metav1.GetOptions{})
		require.NoError(b.t, err)
		all, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, one := range all {
			if fields, _ := one.(map[string]any); fields["type"] == kind && fields["status"] == "True" {
				message, _ = fields["message"].(string)
				return true
			}
		}
		return false
	})
	return message
}

func (b *bench) list() map[string]*corev1.Pod {
	b.t.Helper()
	list, err := b.Clientset.CoreV1().Pods(b.Namespace).List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods
}

// pods waits until there are exactly these.
func (b *bench) pods(names ...string) map[string]*corev1.Pod {
	b.t.Helper()
	var found map[string]*corev1.Pod
	slices.Sort(names)
	b.eventually(fmt.Sprint("pods ", names), func() bool {
		found = b.list()
		have := make([]string, 0, len(found))
		for name := range found {
			have = append(have, name)
		}
		slices.Sort(have)
		return slices.Equal(names, have)
	})
	return found
}

// end ends pods.
func (b *bench) end(code int32, names ...string) {
	b.t.Helper()
	for _, name := range names {
		phase, now := corev1.PodSucceeded, metav1.Now()
		if code != 0 {
			phase = corev1.PodFailed
		}
		body, err := json.Marshal(map[string]any{"status": corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: now}},
		}}}})
		require.NoError(b.t, err)
		_, err = b.Clientset.CoreV1().Pods(b.Namespace).Patch(b.t.Context(), name, "application/strategic-merge-patch+json", body, metav1.PatchOptions{}, "status")
		require.NoError(b.t, err)
	}
}

func variable(pod *corev1.Pod, name string) string {
	for _, one := range pod.Spec.Containers[0].Env {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

func address(pod *corev1.Pod) string { return pod.Annotations[podnet.AnnotationAddress] }

// found is the address under which a pod finds a name.
func found(pod *corev1.Pod, name string) string {
	for _, alias := range pod.Spec.HostAliases {
		if slices.Contains(alias.Hostnames, name) {
			return alias.IP
		}
	}
	return ""
}

const jobSet = `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: %s}, spec: {
  network: {subdomain: %[1]s}, failurePolicy: {maxRestarts: %d}, replicatedJobs: [{name: workers, replicas: 1, template: {spec: {
    parallelism: %d, completions: %[3]d, template: {metadata: {labels: {own: label}}, spec: {restartPolicy: Never, containers: [
      {name: main, image: i, env: [{name: OWN, value: "1"}]}]}}}}}]}}`

func TestAJobSetEndsWithAllItsPods(t *testing.T) {
	b := newBench(t, "jobset")
	b.create(fmt.Sprintf(jobSet, "a", 0, 2))
	pods := b.pods("a-workers-0-0", "a-workers-0-1")
	second := pods["a-workers-0-1"]
	require.Equal(t, []string{"1", "1", "label"}, []string{variable(second, "JOB_COMPLETION_INDEX"), variable(second, "OWN"), second.Labels["own"]})
	require.Equal(t, "1", second.Annotations["batch.kubernetes.io/job-completion-index"])
	first := "a-workers-0-0.a." + b.Namespace + ".svc.cluster.local"
	require.Equal(t, address(pods["a-workers-0-0"]), found(second, first))
	require.NotEqual(t, address(second), found(second, first))

	// Another one has other addresses, and so it stays after a restart of the demo.
	b.create(fmt.Sprintf(jobSet, "b", 0, 1))
	pods = b.pods("a-workers-0-0", "a-workers-0-1", "b-workers-0-0")
	b.stop()
	require.NoError(t, b.Clientset.CoreV1().Pods(b.Namespace).Delete(t.Context(), "a-workers-0-1", metav1.DeleteOptions{}))
	b.start()
	require.Equal(t, address(second), address(b.pods("a-workers-0-0", "a-workers-0-1", "b-workers-0-0")["a-workers-0-1"]))
	seen := map[string]bool{}
	for _, pod := range pods {
		require.False(t, seen[address(pod)], "two pods have %s", address(pod))
		seen[address(pod)] = true
	}

	b.end(0, "a-workers-0-0")
	b.end(0, "a-workers-0-1")
	b.condition("a", "Completed")
}

func TestAJobSetStartsAllPodsAgain(t *testing.T) {
	b := newBench(t, "jobset")
	b.create(fmt.Sprintf(jobSet, "c", 1, 2))
	before := b.pods("c-workers-0-0", "c-workers-0-1")
	b.end(3, "c-workers-0-1")
	after := b.pods("c-workers-0-0-r1", "c-workers-0-1-r1")
	require.Equal(t, address(before["c-workers-0-0"]), address(after["c-workers-0-0-r1"]))
	require.Equal(t, "1", after["c-workers-0-0-r1"].Labels["jobset.sigs.k8s.io/restart-attempt"])
	b.end(3, "c-workers-0-0-r1")
	require.Contains(t, b.condition("c", "Failed"), "c-workers-0-0-r1")
	b.pods("c-workers-0-0-r1", "c-workers-0-1-r1") // the executor reads them, and ends what runs
}

func TestAClusterThatIsTooLargeIsRefused(t *testing.T) {
	b := newBench(t, "jobset")
	b.create(fmt.Sprintf(jobSet, "d", 0, 300))
	require.Equal(t, "it has 300 pods; on this machine a cluster has at most 254", b.condition("d", "Failed"))
	require.Empty(t, b.list())
}

const rayJob = `{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, spec: {
  entrypoint: "a0 --x 'y z'", runtimeEnvYAML: "env_vars: {A: it's}",
  submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}},
  rayClusterSpec: {
    headGroupSpec: {rayStartParams: {dashboard-host: 0.0.0.0, node-ip-address: $MY_POD_IP, disable-usage-stats: "true"}, template: {spec: {containers: [
      {name: ray-head, image: i, resources: {limits: {cpu: "1500m", memory: 1Gi}}}]}}},
    workerGroupSpecs: [{groupName: w, replicas: 1, rayStartParams: {num-cpus: "7"}, template: {spec: {containers: [
      {name: ray-worker, image: i, env: [{name: RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S, value: "5"}]}]}}}]}}}`

// up lets a head answer.
func up(status string) map[string]string {
	return map[string]string{"/api/version": "{}", "/api/local_raylet_healthz": "success", "/api/jobs/r": fmt.Sprintf(`{"status": %q, "message": "why"}`, status)}
}

// TestRayMakesSocketsWhereNamesAreShort: its dashboard did not start where the data directory has a long name.
func TestRayMakesSocketsWhereNamesAreShort(t *testing.T) {
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(rayJob), &object.Object))
	head := func(config Config) *corev1.Pod {
		next, err := rayJobs(&programs{}, config).plan(t.Context(), &cluster{object: object, base: addressAt(netip.Addr{}, 0)})
		require.NoError(t, err)
		return next.create[0]
	}
	long, short := head(Config{PrivateFiles: true, LongPaths: true}), head(Config{PrivateFiles: true})
	require.Equal(t, "/tmp/ray", variable(long, "TMPDIR"))
	require.Equal(t, "mkdir -p /tmp/ray && "+short.Spec.Containers[0].Command[2], long.Spec.Containers[0].Command[2])
	require.Empty(t, variable(short, "TMPDIR"))
}

func TestARayJob(t *testing.T) {
	b := newBench(t, "ray")
	b.create(rayJob)
	head := b.pods("r-head")["r-head"]
	require.Equal(t, "exec ray start --block --head --dashboard-host="+address(head)+" --disable-usage-stats --max-worker-port=0 --memory=1073741824 "+
		"--min-worker-port=0 --node-ip-address="+address(head)+" --num-cpus=2 --object-store-memory=322122547 --port=6379", head.Spec.Containers[0].Command[2])
	require.Equal(t, "/tmp/ray", head.Spec.Containers[0].VolumeMounts[0].MountPath)
	require.Equal(t, "0", variable(head, drainSeconds))
	require.Equal(t, "it runs as a cluster of processes on this machine, started by the demo and not by KubeRay", podnet.Notice(head))
	b.status("r", "jobDeploymentStatus", "Initializing")

	// A head that ends before it is up is replaced.
	b.end(1, "r-head")
	require.Equal(t, address(head), address(b.pods("r-head", "r-head-1")["r-head-1"]))
	b.programs.start(up("RUNNING"))
	pods := b.pods("r-head", "r-head-1", "r-w-worker-0", "r-submitter")
	worker, submitter := pods["r-w-worker-0"], pods["r-submitter"]
	require.Contains(t, worker.Spec.Containers[0].Command[2], "--address="+address(head)+":6379 ")
	require.Contains(t, worker.Spec.Containers[0].Command[2], "--num-cpus=7")
	require.Equal(t, "5", variable(worker, drainSeconds), "the task's own value stays")
	require.Contains(t, submitter.Spec.Containers[0].Command[2], "\nuntil ray job submit --address http://"+address(head)+":8265 --submission-id r "+
		`--runtime-env-json '{"env_vars":{"A":"it'\''s"}}' -- a0 --x 'y z'`+"\ndo\n")
	b.status("r", "jobStatus", "RUNNING")

	// A worker that is lost is replaced.
	b.end(137, "r-w-worker-0")
	again := b.pods("r-head", "r-head-1", "r-w-worker-0", "r-w-worker-0-1", "r-submitter")["r-w-worker-0-1"]
	require.Equal(t, address(worker), address(again))
	b.end(0, "r-submitter")
	b.status("r", "jobDeploymentStatus", "Complete")
}

const (
	rayCluster = `{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: c}, spec: {
  headGroupSpec: {rayStartParams: {dashboard-host: 0.0.0.0}, template: {spec: {containers: [{name: ray-head, image: i}]}}},
  workerGroupSpecs: [{groupName: w, replicas: 1, template: {spec: {containers: [{name: ray-worker, image: i}]}}}]}}`
	selectingJob = `{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: %s}, spec: {clusterSelector: {ray.io/cluster: c},
  submitterPodTemplate: {spec: {containers: [{name: s, image: i, command: [submit]}]}}}}`
)

// TestARayJobInAClusterThatLasts: the cluster is another object, and outlives the job.
func TestARayJobInAClusterThatLasts(t *testing.T) {
	b := newBench(t, "ray")
	b.create(fmt.Sprintf(selectingJob, "r"))
	b.status("r", "jobDeploymentStatus", "Initializing")
	jobs := b.objects
	client, err := dynamic.NewForConfig(b.Config)
	require.NoError(t, err)
	clusters := client.Resource(rayClusterKind.GroupVersion().WithResource("rayclusters")).Namespace(b.Namespace)
	b.objects = clusters
	b.create(rayCluster)
	b.pods("c-head")
	b.programs.start(up("SUCCEEDED"))
	b.status("c", "state", "ready")
	pods := b.pods("c-head", "c-w-worker-0", "r-submitter")
	submits := pods["r-submitter"]
	require.Equal(t, address(pods["c-head"])+":8265", variable(submits, "RAY_DASHBOARD_ADDRESS"))
	require.Equal(t, "r", variable(submits, "RAY_JOB_SUBMISSION_ID"))
	require.Equal(t, []string{"submit"}, submits.Spec.Containers[0].Command)

	b.objects = jobs
	b.end(0, "r-submitter")
	b.status("r", "jobDeploymentStatus", "Complete")
	require.NoError(t, jobs.Delete(t.Context(), "r", metav1.DeleteOptions{}))
	b.create(fmt.Sprintf(selectingJob, "other"))
	b.status("other", "jobDeploymentStatus", "Running")
	require.NoError(t, jobs.Delete(t.Context(), "other", metav1.DeleteOptions{}))
	b.eventually("the job of a deleted object is stopped", func() bool {
		b.programs.mu.Lock()
		defer b.programs.mu.Unlock()
		return slices.Equal(b.programs.posted, []string{"/api/jobs/other/stop"})
	})
	b.eventually("the object is gone", func() bool {
		_, err := jobs.Get(t.Context(), "other", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	found, err := clusters.Get(t.Context(), "c", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "ready", text(found.Object, "status", "state"))
}

func TestAHeadThatIsNeverUpFailsTheJob(t *testing.T) {
	b := newBench(t, "ray")
	b.create(rayJob)
	for _, name := range []string{"r-head", "r-head-1", "r-head-2"} {
		b.eventually(name, func() bool { return b.list()[name] != nil })
		b.end(1, name)
	}
	b.status("r", "reason", "HeadLost")
}

func TestHowARayJobFails(t *testing.T) {
	for name, tc := range map[string]struct {
		ends, answers, reason string
	}{
		"the program failed":    {"r-submitter", "FAILED", "AppFailed"},
		"nobody knows the job":  {"r-submitter", "", "SubmissionFailed"},
		"the head ended":        {"r-head", "RUNNING", "HeadLost"},
		"the log was cut short": {"r-submitter", "SUCCEEDED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "ray")
			b.programs.start(up(tc.answers))
			b.create(rayJob)
			b.pods("r-head", "r-w-worker-0", "r-submitter")
			b.end(1, tc.ends)
			if tc.reason == "" {
				b.status("r", "jobDeploymentStatus", "Complete")
				return
			}
			b.status("r", "jobDeploymentStatus", "Failed")
			b.status("r", "reason", tc.reason)
		})
	}
}

const pyTorchJob = `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: p}, spec: {%s pytorchReplicaSpecs: {%s
  Worker: {replicas: 2, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}`

func TestAPyTorchJobEndsWithItsMaster(t *testing.T) {
	b := newBench(t, "pytorch")
	b.create(fmt.Sprintf(pyTorchJob, "", "Master: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: i}]}}},"))
	pods := b.pods("p-master-0", "p-worker-0", "p-worker-1")
	last := pods["p-worker-1"]
	require.Equal(t, []string{address(pods["p-master-0"]), "3", "2"}, []string{variable(last, "MASTER_ADDR"), variable(last, "WORLD_SIZE"), variable(last, "RANK")})
	require.Equal(t, corev1.RestartPolicyNever, last.Spec.RestartPolicy)
	b.end(0, "p-master-0")
	b.condition("p", "Succeeded")
}

func TestAnElasticPyTorchJob(t *testing.T) {
	b := newBench(t, "pytorch")
	b.create(fmt.Sprintf(pyTorchJob, "elasticPolicy: {rdzvBackend: c10d, minReplicas: 1, maxReplicas: 2, nProcPerNode: 4, maxRestarts: 3},", ""))
	pods := b.pods("p-worker-0", "p-worker-1")
	second := pods["p-worker-1"]
	require.Equal(t, address(pods["p-worker-0"])+":23456", variable(second, "PET_RDZV_ENDPOINT"))
	require.Equal(t, []string{"1:2", "4", "3"}, []string{variable(second, "PET_NNODES"), variable(second, "PET_NPROC_PER_NODE"), variable(second, "PET_MAX_RESTARTS")})
	b.end(0, "p-worker-0")
	b.end(5, "p-worker-1")
	require.Contains(t, b.condition("p", "Failed"), "p-worker-1")
}

// TestAJobIsSubmittedAgainUntilTheHeadKnowsIt runs the command with a double of ray.
func TestAJobIsSubmittedAgainUntilTheHeadKnowsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		knows, ends string // whether the head knows the job, and how it ends
		code, tries int
	}{
		"the job succeeds":             {"exit 1", "exit 0", 0, 1},
		"the job fails":                {"exit 0", "exit 3", 3, 1},
		"the head refuses it at first": {"exit 1", "[ $(wc -l <tries) -ge 2 ] || exit 4", 0, 2},
	} {
		dir := t.TempDir()
		double := "#!/bin/sh\ncase $2 in\nstatus) " + tc.knows + ";;\nsubmit) echo >>tries; " + tc.ends + ";;\nesac\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "ray"), []byte(double), 0o700), name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sleep"), []byte("#!/bin/sh\n"), 0o700), name)
		command := exec.Command("/bin/sh", "-c", submission("ray job submit", "j"))
		command.Dir, command.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		_ = command.Run()
		require.Equal(t, tc.code, command.ProcessState.ExitCode(), name)
		tries, err := os.ReadFile(filepath.Join(dir, "tries"))
		require.NoError(t, err, name)
		require.Len(t, tries, tc.tries, name)
	}
}
