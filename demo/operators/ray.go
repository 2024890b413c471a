package operators

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// What KubeRay sets in the pods of a cluster.
const (
	labelRayCluster  = "ray.io/cluster"
	labelRayNodeType = "ray.io/node-type"
	labelRayGroup    = "ray.io/group"
	gcsPort          = "6379"
	dashboardPort    = "8265"
	agentPort        = "52365"
	clientPort       = "10001"
)

// drainSeconds is the variable that says how long a node waits for its work to end when it is asked to end, in seconds. The
// default of 30 is for nodes whose work continues elsewhere. Here a node ends with its cluster, and would keep its memory
// from the next one.
const drainSeconds = "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"

// temporary is the variable with the directory for temporary files.
const temporary = "TMPDIR"

// rayPoll is how often the dashboard is asked while it does not say how the job ended.
const rayPoll = time.Second

// storeShare is the part of a node's memory that its object store has, as in Ray itself, and storeLeast what Ray requires.
const (
	storeShare = 0.3
	storeLeast = 80 << 20
)

func rayJobs(network network, config Config) operator {
	return operator{
		name: "ray", instead: "KubeRay", object: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, plural: "rayjobs",
		plan: func(ctx context.Context, c *cluster) (plan, error) {
			r := newRayPlan(c, network, config, field(c.object.Object, "spec", "rayClusterSpec"))
			if selected(c.object) != "" {
				return r.inOther(ctx)
			}
			return r.plan(ctx)
		},
		finishes: func(object *unstructured.Unstructured) bool { return selected(object) != "" },
		finish:   func(ctx context.Context, c *cluster) { stopJob(ctx, c, network) },
		refuse:   func(_ *cluster, why string) map[string]any { return rayStatus("ValidationFailed", "", "Refused", why) },
	}
}

func rayStatus(deployment, job, reason, message string) map[string]any {
	return map[string]any{"jobDeploymentStatus": deployment, "jobStatus": job, "reason": reason, "message": message}
}

// rayPlan is the plan of a RayJob: the head, then the workers and the pod that submits. The job ends with the latter.
type rayPlan struct {
	*cluster

	network      network
	privateFiles bool
	longPaths    bool
	spec         map[string]any // of the Ray cluster
	headAt       string         // the address of the head, if it is another object's
	head         int
	submitter    int
}

func newRayPlan(c *cluster, network network, config Config, spec map[string]any) *rayPlan {
	return &rayPlan{cluster: c, network: network, privateFiles: config.PrivateFiles, longPaths: config.LongPaths, spec: spec}
}

func (r *rayPlan) plan(ctx context.Context) (plan, error) {
	if text(r.object.Object, "status", "jobDeploymentStatus") == "Complete" || text(r.object.Object, "status", "jobDeploymentStatus") == "Failed" {
		return plan{}, nil
	}
	spec, name := field(r.object.Object, "spec"), r.object.GetName()
	if flag(spec, "suspend") {
		return plan{remove: r.pods, status: rayStatus("Suspended", "", "", "")}, nil
	}
	r.head = r.add(name+"-head", append(r.service(name+"-head-svc"), r.service(name + "-head")[1:]...)...)
	r.submitter = r.add(name + "-submitter")
	if submits := r.pod(name + "-submitter"); submits != nil && ended(submits) {
		return r.ended(ctx, submits), nil
	}
	place, tries, pause := r.successor(name + "-head")
	switch lost := tries > 0 && (pause > 0 || r.pod(place) == nil); {
	case lost && r.pod(name+"-submitter") != nil:
		return plan{status: rayStatus("Failed", "", "HeadLost", "the head of the cluster ended, and with it what it knew of the job")}, nil
	case tries == headTries:
		return plan{status: rayStatus("Failed", "", "HeadLost", "the head of the cluster ended again and again before it was up")}, nil
	case pause > 0:
		return plan{again: pause, status: rayStatus("Initializing", "", "", "")}, nil
	}
	head, err := r.node(r.head, place, field(r.spec, "headGroupSpec"), "head")
	if err != nil {
		return plan{}, err
	}
	wanted, next := []*corev1.Pod{head}, plan{status: rayStatus("Initializing", "", "", "")}
	workers, again, err := r.workers()
	if err != nil {
		return plan{}, err
	}
	if err := r.fits(); err != nil {
		return plan{}, err
	}
	next.again = again
	switch {
	case r.pod(name+"-submitter") == nil && !r.up(ctx):
		next.again = reachPoll
	default:
		submits, err := r.submits(spec)
		if err != nil {
			return plan{}, err
		}
		wanted = append(append(wanted, workers...), submits)
		next.status = rayStatus("Running", "RUNNING", "", "")
	}
	next.create = missing(r.cluster, wanted)
	return next, nil
}

// up reports whether the head takes nodes and jobs.
func (r *rayPlan) up(ctx context.Context) bool {
	clients := cmp.Or(text(r.spec, "headGroupSpec", "rayStartParams", "ray-client-server-port"), clientPort)
	for _, port := range []string{gcsPort, clients} { // the server of clients is the last that may end the head because it is slow
		if !r.network.Listens(ctx, net.JoinHostPort(r.address(r.head), port)) {
			return false
		}
	}
	if _, answers := r.network.Get(ctx, r.dashboard()+"/api/version"); !answers {
		return false
	}
	_, well := r.network.Get(ctx, "http://"+net.JoinHostPort(r.address(r.head), agentPort)+"/api/local_raylet_healthz")
	return well
}

func (r *rayPlan) dashboard() string {
	if r.headAt != "" {
		return dashboardOf(r.headAt)
	}
	return dashboardOf(r.address(r.head))
}

// ended says how the job ended, once the pod that submitted it has.
func (r *rayPlan) ended(ctx context.Context, submits *corev1.Pod) plan {
	if !failed(submits) {
		return plan{status: rayStatus("Complete", "SUCCEEDED", "", "")}
	}
	var job struct{ Status, Message string }
	if body, ok := r.network.Get(ctx, r.dashboard()+"/api/jobs/"+r.object.GetName()); ok && json.Unmarshal(body, &job) == nil {
		switch job.Status {
		case "FAILED", "STOPPED":
			return plan{status: rayStatus("Failed", job.Status, "AppFailed", job.Message)}
		case "SUCCEEDED": // its log could not be followed to the end
			return plan{status: rayStatus("Complete", job.Status, "", "")}
		case "PENDING", "RUNNING":
			if r.now.Sub(endOf(submits)) < submitterGrace {
				return plan{again: rayPoll}
			}
		}
	}
	return plan{status: rayStatus("Failed", "", "SubmissionFailed", "the pod that submits the task failed")}
}

// submitterGrace is how long the dashboard may say that a job runs whose submitter has failed.
const submitterGrace = 10 * time.Second

// workers are the pods of all groups. One that ended is replaced, after a pause that grows.
func (r *rayPlan) workers() (pods []*corev1.Pod, again time.Duration, failure error) {
	groups, _, _ := unstructured.NestedSlice(r.spec, "workerGroupSpecs")
	for _, one := range groups {
		group, _ := one.(map[string]any)
		for i := range int(number(group, 0, "replicas")) {
			place := fmt.Sprintf("%s-%s-worker-%d", r.object.GetName(), text(group, "groupName"), i)
			at := r.add(place)
			name, _, pause := r.successor(place)
			if pause > 0 {
				if again == 0 || pause < again {
					again = pause
				}
				continue
			}
			pod, err := r.node(at, name, group, "worker")
			if err != nil {
				return nil, 0, err
			}
			pods = append(pods, pod)
		}
	}
	return pods, again, nil
}

const (
	// firstPause is the pause before a pod that ended is replaced, doubled each time.
	firstPause = time.Second
	maxDoubled = 6
	// headTries is how many heads there may be before one is up. Ray gives up where the machine is too busy to start it in time.
	headTries = 3
)

// successor is the name of the pod that takes a place, how many have had it, and how long it stays empty.
func (r *rayPlan) successor(place string) (name string, before int, pause time.Duration) {
	name = place
	for {
		pod := r.pod(name)
		if pod == nil || !ended(pod) {
			return name, before, 0
		}
		wait := endOf(pod).Add(firstPause << min(before, maxDoubled)).Sub(r.now)
		if before++; wait > 0 && r.pod(place+"-"+strconv.Itoa(before)) == nil {
			return "", before, wait
		}
		name = place + "-" + strconv.Itoa(before)
	}
}

// node is the pod of the head or of a worker.
func (r *rayPlan) node(at int, name string, group map[string]any, kind string) (*corev1.Pod, error) {
	pod, err := r.build(at, name, field(group, "template"))
	if err != nil {
		return nil, err
	}
	pod.Labels[labelRayCluster], pod.Labels[labelRayNodeType], pod.Labels[labelRayGroup] = r.object.GetName(), kind, "headgroup"
	if kind == "worker" {
		pod.Labels[labelRayGroup] = text(group, "groupName")
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if len(pod.Spec.Containers) == 0 {
		return nil, &refusedError{fmt.Sprintf("the pod %s has no container", name)}
	}
	own := &pod.Spec.Containers[0]
	own.Command, own.Args = []string{"/bin/sh", "-c", "exec ray start " + r.options(own, at, field(group, "rayStartParams"), kind)}, nil
	if r.longPaths && !has(own.Env, temporary) {
		own.Command[2] = "mkdir -p " + r.files() + "/ray && " + own.Command[2]
		give(pod, corev1.EnvVar{Name: temporary, Value: r.files() + "/ray"}) // its dashboard makes a socket there
	}
	give(pod, corev1.EnvVar{Name: "RAY_ADDRESS", Value: net.JoinHostPort(r.address(r.head), gcsPort)},
		corev1.EnvVar{Name: "RAY_CLUSTER_NAME", Value: r.object.GetName()}, corev1.EnvVar{Name: "RAY_USAGE_STATS_ENABLED", Value: "0"},
		corev1.EnvVar{Name: "RAY_TMPDIR", Value: r.files()})
	if !has(own.Env, drainSeconds) {
		give(pod, corev1.EnvVar{Name: drainSeconds, Value: "0"})
	}
	if r.privateFiles {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "ray-files", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: "ray-files", MountPath: r.files() + "/ray"})
	}
	return pod, nil
}

// files is where Ray makes its files. The temporary directory of a container has too long a name for sockets in it. Processes of a
// user who has no private files share it, and each session has a directory of its own.
func (r *rayPlan) files() string {
	if r.privateFiles {
		return "/tmp"
	}
	return "/tmp/flyte-" + strconv.Itoa(os.Getuid())
}

// options are those of `ray start`. Values are written for a shell, as KubeRay has it.
func (r *rayPlan) options(own *corev1.Container, at int, given map[string]any, kind string) string {
	options := map[string]string{
		// Nodes of this machine would take the same ports.
		"min-worker-port": "0", "max-worker-port": "0", "node-ip-address": r.address(at),
	}
	if kind == "worker" {
		options["address"] = net.JoinHostPort(r.address(r.head), gcsPort)
	} else {
		options["port"] = gcsPort
	}
	if cpu := own.Resources.Limits.Cpu(); !cpu.IsZero() {
		options["num-cpus"] = strconv.FormatInt(cpu.Value(), 10)
	} else if cpu := own.Resources.Requests.Cpu(); !cpu.IsZero() {
		options["num-cpus"] = strconv.FormatInt(cpu.Value(), 10)
	}
	if memory := own.Resources.Limits.Memory(); !memory.IsZero() {
		options["memory"] = strconv.FormatInt(memory.Value(), 10)
		options["object-store-memory"] = strconv.FormatInt(max(int64(float64(memory.Value())*storeShare), storeLeast), 10)
	}
	for name, value := range given {
		options[name], _ = value.(string)
	}
	if options["dashboard-host"] == "0.0.0.0" {
		options["dashboard-host"] = r.address(at)
	}
	words := []string{"--block"}
	if kind == "head" {
		words = append(words, "--head")
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if value := strings.ReplaceAll(options[name], "$MY_POD_IP", r.address(at)); value == "true" && isSwitch(name) {
			words = append(words, "--"+name)
		} else {
			words = append(words, "--"+name+"="+value)
		}
	}
	return strings.Join(words, " ")
}

// isSwitch reports whether an option of `ray start` has no value.
func isSwitch(name string) bool {
	return slices.Contains([]string{"disable-usage-stats", "enable-object-reconstruction", "log-color", "no-redirect-output", "no-monitor"}, name)
}

// submits is the pod that submits the task and shows what it prints.
func (r *rayPlan) submits(spec map[string]any) (*corev1.Pod, error) {
	pod, err := r.build(r.submitter, r.members[r.submitter].hostname, field(spec, "submitterPodTemplate"))
	if err != nil {
		return nil, err
	}
	line := "ray job submit --address " + r.dashboard() + " --submission-id " + r.object.GetName()
	if env := text(spec, "runtimeEnvYAML"); env != "" {
		asJSON, err := yaml.YAMLToJSON([]byte(env))
		if err != nil {
			return nil, &refusedError{fmt.Sprintf("runtimeEnvYAML: %v", err)}
		}
		line += " --runtime-env-json '" + strings.ReplaceAll(string(asJSON), "'", `'\''`) + "'"
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range pod.Spec.Containers {
		if own := &pod.Spec.Containers[i]; len(own.Command) == 0 && len(own.Args) == 0 {
			own.Command = []string{"/bin/sh", "-c", submission(line+" -- "+text(spec, "entrypoint"), r.object.GetName())}
		}
	}
	give(pod, corev1.EnvVar{Name: "RAY_ADDRESS", Value: r.dashboard()}, corev1.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"})
	return pod, nil
}

// submission repeats a command until the head knows the job: it may refuse jobs for some seconds after its node is up.
func submission(command, job string) string {
	return "n=0\nuntil " + command + "\ndo\n  code=$? n=$((n+1))\n  if [ $n -ge 6 ] || ray job status " + job +
		" >/dev/null 2>&1; then exit $code; fi\n  sleep 5\ndone"
}
