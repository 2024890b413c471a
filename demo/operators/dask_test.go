package operators

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const daskJob = `{apiVersion: kubernetes.dask.org/v1, kind: DaskJob, metadata: {name: d}, spec: {
  job: {spec: {containers: [{name: main, image: i, args: [a0]}]}},
  cluster: {spec: {
    scheduler: {spec: {restartPolicy: Always, containers: [{name: main, image: i, args: [dask, scheduler]}]}},
    worker: {replicas: 2, spec: {restartPolicy: Always, containers: [{name: main, image: i, args: [dask, worker, --name, $(DASK_WORKER_NAME)]}]}}}}}}`

func TestADaskJobWaitsForItsScheduler(t *testing.T) {
	b := newBench(t, "dask")
	b.create(daskJob)
	scheduler := b.pods("d-scheduler")["d-scheduler"]
	require.Equal(t, []string{"dask", "scheduler", "--host", address(scheduler)}, scheduler.Spec.Containers[0].Args)
	b.status("d", "jobStatus", "ClusterCreated")
	b.programs.start(nil)
	pods := b.pods("d-scheduler", "d-runner", "d-default-worker-0", "d-default-worker-1")
	require.Equal(t, "tcp://"+address(scheduler)+":8786", variable(pods["d-runner"], "DASK_SCHEDULER_ADDRESS"))
	require.Equal(t, "d-default-worker-1", variable(pods["d-default-worker-1"], "DASK_WORKER_NAME"))
	require.Equal(t, []string{"a0"}, pods["d-runner"].Spec.Containers[0].Args)
	b.status("d", "jobStatus", "Running")
	b.end(0, "d-runner")
	b.status("d", "jobStatus", "Successful")
}

// TestADaskJobNamesItsRunnerOnceThePodExists: the status is written before pods are created, and the executor takes a runner that the
// status names and the API server does not have for deleted.
func TestADaskJobNamesItsRunnerOnceThePodExists(t *testing.T) {
	object, listening := objectOf(t, daskJob), &programs{}
	listening.start(nil)
	plan := func(pods ...*corev1.Pod) plan {
		next, err := daskJobs(listening).plan(t.Context(), &cluster{object: object, base: addressAt(netip.Addr{}, 0), pods: pods})
		require.NoError(t, err)
		return next
	}
	first := plan()
	require.Len(t, first.create, 4)
	require.Equal(t, map[string]any{"jobStatus": "ClusterCreated"}, first.status)
	second := plan(first.create...)
	require.Empty(t, second.create)
	require.Equal(t, map[string]any{"jobStatus": "Running", "jobRunnerPodName": "d-runner"}, second.status)
}

func TestADaskJobFailsWithItsRunner(t *testing.T) {
	b := newBench(t, "dask")
	b.programs.start(nil)
	b.create(daskJob)
	b.pods("d-scheduler", "d-runner", "d-default-worker-0", "d-default-worker-1")
	b.end(1, "d-runner")
	b.status("d", "jobStatus", "Failed")
}
