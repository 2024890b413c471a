package capacity_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor/capacity"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

func amounts(cpu, memory, gpus string) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	if gpus != "" {
		list["nvidia.com/gpu"] = resource.MustParse(gpus)
	}
	return list
}

// cluster is an API server with nodes and pods that nothing runs.
type cluster struct {
	*kubetest.Cluster
	t testing.TB
}

func (c cluster) node(name string, has corev1.ResourceList, ready corev1.ConditionStatus, change ...func(*corev1.Node)) {
	c.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, one := range change {
		one(node)
	}
	created, err := c.Clientset.CoreV1().Nodes().Create(c.t.Context(), node, metav1.CreateOptions{})
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		require.NoError(c.t, c.Clientset.CoreV1().Nodes().Delete(context.WithoutCancel(c.t.Context()), name, metav1.DeleteOptions{}))
	})
	created.Status.Allocatable, created.Status.Capacity = has, has
	created.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	_, err = c.Clientset.CoreV1().Nodes().UpdateStatus(c.t.Context(), created, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

func container(name string, wants corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Image: "i:1", Resources: corev1.ResourceRequirements{Requests: wants, Limits: wants}}
}

func (c cluster) pod(name, node string, phase corev1.PodPhase, spec corev1.PodSpec) {
	c.t.Helper()
	spec.NodeName, spec.RestartPolicy = node, corev1.RestartPolicyNever
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace}, Spec: spec}
	created, err := c.Clientset.CoreV1().Pods(c.Namespace).Create(c.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(c.t, err)
	created.Status.Phase = phase
	_, err = c.Clientset.CoreV1().Pods(c.Namespace).UpdateStatus(c.t.Context(), created, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

func TestWhatNodesHaveAndPodsLeave(t *testing.T) {
	c := cluster{kubetest.New(t), t}
	c.node("one", amounts("4", "16Gi", ""), corev1.ConditionTrue)
	c.node("two", amounts("8", "32Gi", "4"), corev1.ConditionTrue, func(n *corev1.Node) {
		n.Labels["nvidia.com/gpu.product"] = "NVIDIA-H100"
	})
	c.node("dead", amounts("64", "1Ti", "8"), corev1.ConditionFalse)
	c.node("cordoned", amounts("64", "1Ti", "8"), corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true })

	always := corev1.ContainerRestartPolicyAlways
	sidecar, first := container("sidecar", amounts("500m", "1Gi", "")), container("first", amounts("3", "1Gi", ""))
	sidecar.RestartPolicy = &always
	c.pod("mixed", "one", corev1.PodRunning, corev1.PodSpec{
		InitContainers: []corev1.Container{sidecar, first},
		Containers:     []corev1.Container{container("a", amounts("1", "2Gi", "")), container("b", amounts("1", "2Gi", ""))},
	}) // 3.5 cores while it begins, then 2.5
	c.pod("gpus", "two", corev1.PodPending, corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("2", "4Gi", "3"))}})
	c.pod("ended", "two", corev1.PodSucceeded, corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("6", "4Gi", "1"))}})
	c.pod("waits", "", corev1.PodPending, corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("6", "4Gi", "1"))}})
	c.pod("lost", "dead", corev1.PodRunning, corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("6", "4Gi", "1"))}})

	found, err := capacity.Read(t.Context(), c.Clientset)
	require.NoError(t, err)
	const gi = int64(1) << 30
	require.True(t, found.GetKnown())
	require.Equal(t, []string{"NVIDIA-H100"}, found.GetAccelerators())
	require.Equal(t, map[string]int64{"cpu": 12000, "memory": 48 * gi, "nvidia.com/gpu": 4}, found.GetCapacity())
	require.Equal(t, map[string]int64{"cpu": 500 + 6000, "memory": 11*gi + 28*gi, "nvidia.com/gpu": 1, "pods": 0}, found.GetFree())
	require.Equal(t, map[string]int64{"cpu": 8000, "memory": 32 * gi, "nvidia.com/gpu": 4}, found.GetLargest())
}

// TestMeasureReading prints how long a reading takes: FLYTE_MEASURE_CAPACITY=PODS go test ./executor/capacity -run Measure -v.
func TestMeasureReading(t *testing.T) {
	var pods int
	if _, err := fmt.Sscan(os.Getenv("FLYTE_MEASURE_CAPACITY"), &pods); err != nil {
		t.Skip("FLYTE_MEASURE_CAPACITY is not set to a number of pods")
	}
	c := cluster{kubetest.New(t), t}
	c.node("large", amounts("10000", "10Ti", ""), corev1.ConditionTrue)
	for i := range pods {
		c.pod(fmt.Sprint("p", i), "large", corev1.PodRunning, corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("1", "1Gi", ""))}})
	}
	for range 5 {
		began := time.Now()
		_, err := capacity.Read(t.Context(), c.Clientset)
		require.NoError(t, err)
		t.Logf("%d pods: %s", pods, time.Since(began))
	}
}
