package node_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func asking(what ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		list := corev1.ResourceList{}
		for i := 0; i < len(what); i += 2 {
			list[corev1.ResourceName(what[i])] = resource.MustParse(what[i+1])
		}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
}

func TestPodsQueueForCPUs(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.CPUs = 2 })
	dir := t.TempDir()
	hold := "while [ ! -e " + dir + "/go ]; do sleep 0.01; done"
	first := b.running(t, b.create(t, b.shell(hold, asking("cpu", "1500m"))))
	second := b.create(t, b.shell("echo second >>"+dir+"/order", asking("cpu", "1")))
	waiting := b.until(t, second, "explained", func(p *corev1.Pod) bool {
		return condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
	})
	require.Equal(t, corev1.PodPending, waiting.Status.Phase)
	require.Equal(t, "Unschedulable", condition(waiting, corev1.PodScheduled).Reason)
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. Of 2 cpu, these hold most: pod "+first.Name+" (1500m).",
		condition(waiting, corev1.PodScheduled).Message)
	require.Contains(t, b.event(t, second, "FailedScheduling"), "Insufficient cpu")

	third := b.create(t, b.shell("echo third >>"+dir+"/order", asking("cpu", "1")))
	small := b.run(t, b.shell("exit 0", asking("cpu", "500m")))
	require.Equal(t, corev1.PodSucceeded, small.Status.Phase, "a pod that fits need not wait")
	b.until(t, third, "explained", func(p *corev1.Pod) bool {
		return condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
	})
	touch(t, dir+"/go")
	b.ended(t, first)
	b.ended(t, second)
	ended := b.ended(t, third)
	require.Equal(t, corev1.ConditionTrue, condition(ended, corev1.PodScheduled).Status)
}

func TestTheOldestPodOfTheHighestPriorityIsFirst(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.Pods = 1 })
	dir := t.TempDir()
	first := b.running(t, b.create(t, b.shell("while [ ! -e "+dir+"/go ]; do sleep 0.01; done")))
	var all []*corev1.Pod
	for i := range 4 {
		all = append(all, b.create(t, b.shell("echo "+strconv.Itoa(i)+" >>"+dir+"/order", func(p *corev1.Pod) {
			if i == 3 {
				p.Spec.PriorityClassName = "system-node-critical"
			}
		})))
	}
	explained := b.until(t, all[2], "explained", func(p *corev1.Pod) bool {
		return condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
	})
	require.Equal(t, "0/1 nodes are available: 1 Too many pods.", condition(explained, corev1.PodScheduled).Message)
	touch(t, dir+"/go")
	b.ended(t, first)
	for _, pod := range all {
		b.ended(t, pod)
	}
	require.Equal(t, "3\n0\n1\n2", content(t, dir+"/order"))
}

func TestAPodThatNeverFitsIsExplained(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.CPUs, c.UnschedulableAfter = 2, time.Hour })
	for _, tc := range []struct {
		change func(*corev1.Pod)
		words  []string
	}{
		{asking("cpu", "64"), []string{"1 Insufficient cpu", "64 of cpu", "offers 2", "never"}},
		{asking("nvidia.com/gpu", "1"), []string{"1 Insufficient nvidia.com/gpu", "does not have"}},
		{func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "moon"} }, []string{"node affinity/selector"}},
	} {
		pod := b.until(t, b.create(t, b.shell("exit 0", tc.change)), "explained", func(p *corev1.Pod) bool {
			return condition(p, corev1.PodScheduled).Reason == "Unschedulable"
		})
		for _, words := range tc.words {
			require.Contains(t, condition(pod, corev1.PodScheduled).Message, words)
		}
	}
}

// TestWhoHoldsTheCPUsIsSaid: a pod that waits names the largest holders, and says when a parent and its child never fit together.
func TestWhoHoldsTheCPUsIsSaid(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.CPUs, c.Relief = 4, 0 })
	of := func(label, name, cpus string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			asking("cpu", cpus)(p)
			p.Labels = map[string]string{label: name}
		}
	}
	for _, holder := range [][3]string{
		{"flyte.org/run", "parent", "2"}, {"flyte.org/app", "chat", "500m"}, {"flyte.org/run", "small", "250m"}, {"flyte.org/run", "other", "250m"}, {"flyte.org/run", "small", "1"},
	} {
		b.running(t, b.create(t, b.shell("sleep 100", of(holder[0], holder[1], holder[2]))))
	}
	said := func(change func(*corev1.Pod)) string {
		pod := b.until(t, b.create(t, b.shell("exit 0", change)), "explained", func(p *corev1.Pod) bool {
			return condition(p, corev1.PodScheduled).Reason == "Unschedulable"
		})
		return condition(pod, corev1.PodScheduled).Message
	}
	const who = "0/1 nodes are available: 1 Insufficient cpu. Of 4 cpu, these hold most: run parent (2), run small (1250m), app chat (500m), 1 more."
	require.Equal(t, who, said(of("flyte.org/run", "else", "1")))
	require.Equal(t, who, said(of("flyte.org/run", "parent", "2")), "a parent and its child fit together once the others have ended")
	require.Equal(t, who+" Its own run holds 2 of cpu: a parent that waits for this action keeps its share, and with the 3 that this action requests "+
		"they do not fit on this machine together. Request less for one of them; otherwise it may wait forever.", said(of("flyte.org/run", "parent", "3")))
}

// Parents that wait for their children hold their CPUs. Nested deeper than there are CPUs, they would wait forever.
func TestIdlePodsDoNotBlockTheNodeForEver(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.CPUs, c.Relief = 1, 20*time.Millisecond })
	dir := t.TempDir()
	parent := b.create(t, b.shell("while [ ! -e "+dir+"/child ]; do sleep 0.2; done", asking("cpu", "1")))
	b.running(t, parent)
	child := b.create(t, b.shell("touch "+dir+"/child", asking("cpu", "1")))
	require.Equal(t, corev1.PodSucceeded, b.ended(t, child).Status.Phase)
	require.Equal(t, corev1.PodSucceeded, b.ended(t, parent).Status.Phase)

	large := b.create(t, b.shell("exit 0", asking("cpu", "2")))
	b.until(t, large, "explained", func(p *corev1.Pod) bool { return condition(p, corev1.PodScheduled).Reason == "Unschedulable" })
}

func TestAPodThatIsDeletedWhileItWaits(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.Pods = 1 })
	first := b.running(t, b.create(t, b.shell("sleep 100")))
	waiting := b.create(t, b.shell("exit 0"))
	b.delete(t, waiting, 30)
	b.goneFromAPI(t, waiting)
	b.delete(t, first, 0)
	require.Equal(t, corev1.PodSucceeded, b.run(t, b.shell("exit 0")).Status.Phase)
}

func TestTheNodeInTheAPI(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.CPUs, c.CPUOvercommit, c.Heartbeat = 3, 2, 10*time.Millisecond })
	found, err := b.client.CoreV1().Nodes().Get(t.Context(), b.cfg.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "6", found.Status.Allocatable.Cpu().String())
	require.Equal(t, b.cfg.MemoryBytes, found.Status.Capacity.Memory().Value())
	require.Equal(t, corev1.NodeReady, found.Status.Conditions[0].Type)
	require.Equal(t, corev1.ConditionTrue, found.Status.Conditions[0].Status)
	require.NotZero(t, found.Status.DaemonEndpoints.KubeletEndpoint.Port)

	renewed := func() time.Time {
		lease, err := b.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), b.cfg.Name, metav1.GetOptions{})
		if err != nil {
			return time.Time{}
		}
		return lease.Spec.RenewTime.Time
	}
	require.Eventually(t, func() bool { return !renewed().IsZero() }, 10*time.Second, 5*time.Millisecond)
	before := renewed()
	require.Eventually(t, func() bool { return renewed().After(before) }, 10*time.Second, 5*time.Millisecond)
}
