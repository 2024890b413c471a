package operators

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the Dask operator sets in the pods of a cluster.
const (
	labelDaskCluster   = "dask.org/cluster-name"
	labelDaskComponent = "dask.org/component"
	schedulerPort      = "8786"
	schedulerAddress   = "DASK_SCHEDULER_ADDRESS"
	workerName         = "DASK_WORKER_NAME"
)

// reachPoll is how often it is tried whether a program listens already.
const reachPoll = 500 * time.Millisecond

func daskJobs(network network) operator {
	return operator{
		name: "dask", instead: "the Dask operator", object: schema.GroupVersionKind{Group: "kubernetes.dask.org", Version: "v1", Kind: "DaskJob"}, plural: "daskjobs",
		plan:   func(ctx context.Context, c *cluster) (plan, error) { return planDask(ctx, c, network) },
		refuse: func(*cluster, string) map[string]any { return map[string]any{"jobStatus": "Failed"} },
	}
}

// planDask runs the scheduler, then the workers and the runner. The job ends with its runner.
func planDask(ctx context.Context, c *cluster, network network) (plan, error) {
	spec := field(c.object.Object, "spec")
	name := c.object.GetName()
	first := c.add(name+"-scheduler", c.service(name + "-scheduler")[1:]...)
	runner := c.add(name + "-runner")
	workers := make([]int, number(spec, 1, "cluster", "spec", "worker", "replicas"))
	for i := range workers {
		workers[i] = c.add(fmt.Sprintf("%s-default-worker-%d", name, i))
	}
	if err := c.fits(); err != nil {
		return plan{}, err
	}
	if run := c.pod(name + "-runner"); run != nil && ended(run) {
		status := "Successful"
		if failed(run) {
			status = "Failed"
		}
		return plan{status: map[string]any{"jobStatus": status, "jobRunnerPodName": run.Name}}, nil
	}
	scheduler, err := c.daskPod(first, "scheduler", field(spec, "cluster", "spec", "scheduler"), "")
	if err != nil {
		return plan{}, err
	}
	wanted, next := []*corev1.Pod{scheduler}, plan{status: map[string]any{"jobStatus": "ClusterCreated"}}
	listens := c.pod(name+"-runner") != nil // once is enough: clients connect again
	if !listens && !network.Listens(ctx, net.JoinHostPort(c.address(first), schedulerPort)) {
		next.again = reachPoll
	} else {
		address := "tcp://" + net.JoinHostPort(c.address(first), schedulerPort)
		for _, at := range workers {
			pod, err := c.daskPod(at, "worker", field(spec, "cluster", "spec", "worker"), address)
			if err != nil {
				return plan{}, err
			}
			wanted = append(wanted, pod)
		}
		pod, err := c.daskPod(runner, "job-runner", field(spec, "job"), address)
		if err != nil {
			return plan{}, err
		}
		wanted = append(wanted, pod)
		if listens { // a status that names the runner before its pod exists reads as if the pod was deleted
			next.status = map[string]any{"jobStatus": "Running", "jobRunnerPodName": pod.Name}
		}
	}
	next.create = missing(c, wanted)
	return next, nil
}

func (c *cluster) daskPod(at int, component string, template map[string]any, scheduler string) (*corev1.Pod, error) {
	pod, err := c.build(at, c.members[at].hostname, template)
	if err != nil {
		return nil, err
	}
	pod.Labels[labelDaskCluster], pod.Labels[labelDaskComponent] = c.object.GetName(), component
	if scheduler != "" {
		give(pod, corev1.EnvVar{Name: schedulerAddress, Value: scheduler})
	}
	if component == "worker" {
		give(pod, corev1.EnvVar{Name: workerName, Value: pod.Name})
	}
	for i := range pod.Spec.Containers {
		// Programs of the SDK's plugin; other ones say themselves where they listen.
		if own := &pod.Spec.Containers[i]; len(own.Args) > 1 && own.Args[0] == "dask" && !slices.Contains(own.Args, "--host") {
			own.Args = append(own.Args, "--host", c.address(at))
		}
	}
	return pod, nil
}
