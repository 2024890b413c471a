package node_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

const acceleratorLabel, partitionLabel = "k8s.amazonaws.com/accelerator", "k8s.amazonaws.com/gpu-partition-size"

func h200(ids ...string) (all []devices.Device) {
	for i, id := range ids {
		all = append(all, devices.Device{ID: id, Maker: devices.NVIDIA, Index: i, Model: "NVIDIA H200", Bytes: 141 << 30})
	}
	return all
}

func with(all ...devices.Device) func(*node.Config) {
	return func(c *node.Config) { c.Devices = all }
}

// saysDevices prints what a container sees, and waits for a file.
func saysDevices(dir string) string {
	return `echo "[$CUDA_VISIBLE_DEVICES]" | tee -a ` + dir + `/seen > /dev/termination-log; while [ ! -e ` + dir + `/go ]; do sleep 0.01; done`
}

func said(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	return strings.TrimSpace(terminated(pod).Message)
}

func explained(b *bundle, t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	pod = b.until(t, pod, "explained", func(p *corev1.Pod) bool { return condition(p, corev1.PodScheduled).Reason == "Unschedulable" })
	return condition(pod, corev1.PodScheduled).Message
}

func TestADeviceIsOfOnePodAtATime(t *testing.T) {
	b := setup(t, with(h200("GPU-a")...))
	first, second := t.TempDir(), t.TempDir()
	of := func(run string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			asking("nvidia.com/gpu", "1")(p)
			p.Labels = map[string]string{"flyte.org/run": run}
		}
	}
	holder := b.running(t, b.create(t, b.shell(saysDevices(first), of("holder"))))
	waits := b.create(t, b.shell(saysDevices(second), of("waits")))
	require.Equal(t, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. Of 1 nvidia.com/gpu, these hold most: run holder (1).", explained(b, t, waits))
	require.NoFileExists(t, second+"/seen")
	states := b.node.Devices(t.Context())
	require.Len(t, states, 1)
	require.Equal(t, "run holder", states[0].Holder)
	require.Equal(t, "141.0 GiB", states[0].Busy)

	touch(t, second+"/go")
	other := b.run(t, b.shell(saysDevices(second)))
	require.Equal(t, "[]", said(t, other), "a pod that does not ask sees none")
	touch(t, first+"/go")
	require.Equal(t, "[GPU-a]", said(t, b.ended(t, holder)))
	require.Equal(t, "[GPU-a]", said(t, b.ended(t, waits)))
	require.Eventually(t, func() bool { return b.node.Devices(t.Context())[0].Holder == "" }, 10*time.Second, 5*time.Millisecond)
}

func TestPodsHaveDevicesOfTheirOwn(t *testing.T) {
	b := setup(t, with(h200("GPU-a", "GPU-b", "GPU-c")...))
	dir := t.TempDir()
	one := b.running(t, b.create(t, b.shell(saysDevices(dir), asking("nvidia.com/gpu", "1"))))
	two := b.running(t, b.create(t, b.shell(saysDevices(dir), asking("nvidia.com/gpu", "2"))))
	touch(t, dir+"/go")
	require.Equal(t, "[GPU-a]", said(t, b.ended(t, one)))
	require.Equal(t, "[GPU-b,GPU-c]", said(t, b.ended(t, two)))
}

func TestTheAuthorOfATaskCannotChooseADevice(t *testing.T) {
	b := setup(t, with(h200("GPU-a")...))
	dir := t.TempDir()
	touch(t, dir+"/go")
	require.Equal(t, "[]", said(t, b.run(t, b.shell(saysDevices(dir), func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "CUDA_VISIBLE_DEVICES", Value: "0"}}
	}))))
}

func TestDevicesByModelAndPartition(t *testing.T) {
	all := append(h200("GPU-a"), devices.Device{ID: "MIG-b", Maker: devices.NVIDIA, Model: "NVIDIA A100-SXM4-40GB", Partition: "1g.5gb"},
		devices.Device{ID: "GPU-c", Maker: devices.AMD, Model: "AMD Instinct MI300X"})
	b := setup(t, with(all...))
	dir := t.TempDir()
	touch(t, dir+"/go")
	named := func(name, partition string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			asking("nvidia.com/gpu", "1")(p)
			p.Spec.NodeSelector = map[string]string{acceleratorLabel: name}
			if partition != "" {
				p.Spec.NodeSelector[partitionLabel] = partition
			}
		}
	}
	require.Equal(t, "[GPU-a]", said(t, b.run(t, b.shell(saysDevices(dir), named("H200", "")))))
	require.Equal(t, "[MIG-b]", said(t, b.run(t, b.shell(saysDevices(dir), named("nvidia-tesla-a100", "1g.5gb")))))
	amd := b.run(t, b.shell(`echo "[$CUDA_VISIBLE_DEVICES] [$ROCR_VISIBLE_DEVICES] [$HIP_VISIBLE_DEVICES]" > /dev/termination-log`, asking("amd.com/gpu", "1")))
	require.Equal(t, "[] [GPU-c] [0]", said(t, amd))

	whole := b.create(t, b.shell("exit 0", named("nvidia-tesla-a100", ""), func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: partitionLabel, Operator: corev1.NodeSelectorOpDoesNotExist},
			}}},
		}}}
	}))
	for pod, words := range map[*corev1.Pod]string{
		whole: "asks for 1 nvidia-tesla-a100, not divided, and this machine has 1 NVIDIA H200 and 1 NVIDIA A100-SXM4-40GB 1g.5gb, so it will never start",
		b.create(t, b.shell("exit 0", named("nvidia-tesla-h100", ""))): "asks for 1 nvidia-tesla-h100 and this machine has",
		b.create(t, b.shell("exit 0", asking("nvidia.com/gpu", "3"))):  "asks for 3 GPUs and this machine has",
	} {
		require.Contains(t, explained(b, t, pod), words)
	}
}

func TestContainersShareTheDevicesOfTheirPod(t *testing.T) {
	b := setup(t, with(h200("GPU-a", "GPU-b")...))
	dir := t.TempDir()
	pod := b.run(t, b.shell(`echo "main [$CUDA_VISIBLE_DEVICES]" >> `+dir+"/main", asking("nvidia.com/gpu", "1"), func(p *corev1.Pod) {
		second := p.Spec.Containers[0].DeepCopy()
		second.Name, second.Command = "second", []string{"sh", "-c", `echo "[$CUDA_VISIBLE_DEVICES]" >> ` + dir + "/second"}
		first := second.DeepCopy()
		first.Name, first.Command = "init", []string{"sh", "-c", `echo "[$CUDA_VISIBLE_DEVICES]" >> ` + dir + "/init"}
		p.Spec.Containers, p.Spec.InitContainers = append(p.Spec.Containers, *second), []corev1.Container{*first}
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase, "%+v", pod.Status)
	require.Equal(t, "[GPU-a]", content(t, dir+"/init"))
	require.Equal(t, "main [GPU-a]", content(t, dir+"/main"))
	require.Equal(t, "[GPU-b]", content(t, dir+"/second"))
}

// TestARestartKeepsDevices: a process that runs has its device, whatever happens to the node, and no one else gets it.
func TestARestartKeepsDevices(t *testing.T) {
	b := setup(t, with(h200("GPU-a", "GPU-b")...))
	dir, other := t.TempDir(), t.TempDir()
	lost := b.running(t, b.create(t, b.shell(saysDevices(dir), asking("nvidia.com/gpu", "1"))))
	kept := b.running(t, b.create(t, b.shell(saysDevices(dir), asking("nvidia.com/gpu", "1")))) // not the first one, which a node gives first
	b.crash(t)
	states := node.DevicesOf(t.Context(), b.cfg.DataDir, b.cfg.Devices, nil)
	require.Equal(t, []string{"pod " + lost.Name, "pod " + kept.Name}, []string{states[0].Holder, states[1].Holder}, "what doctor reads")
	zero := int64(0)
	require.NoError(t, b.client.CoreV1().Pods(b.namespace).Delete(t.Context(), lost.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	b.start(t)
	touch(t, other+"/go")
	next := b.run(t, b.shell(saysDevices(other), asking("nvidia.com/gpu", "1")))
	require.Equal(t, "[GPU-a]", said(t, next), "the device of the pod that was deleted meanwhile")
	waits := b.create(t, b.shell(saysDevices(other), asking("nvidia.com/gpu", "2")))
	require.Contains(t, explained(b, t, waits), "Of 2 nvidia.com/gpu, these hold most: pod "+kept.Name+" (1).")
	touch(t, dir+"/go")
	require.Equal(t, "[GPU-b]", said(t, b.ended(t, kept)))
	require.Equal(t, "[GPU-a,GPU-b]", said(t, b.ended(t, waits)))
}

// TestAPodThatSomethingElseBinds waits for its device, though the node cannot refuse it.
func TestAPodThatSomethingElseBinds(t *testing.T) {
	b := setup(t, with(h200("GPU-a")...))
	first, second := t.TempDir(), t.TempDir()
	holder := b.running(t, b.create(t, b.shell(saysDevices(first), asking("nvidia.com/gpu", "1"))))
	bound := b.create(t, b.shell(saysDevices(second), asking("nvidia.com/gpu", "1"), func(p *corev1.Pod) { p.Spec.NodeName = b.cfg.Name }))
	b.until(t, bound, "waiting", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
			strings.Contains(p.Status.ContainerStatuses[0].State.Waiting.Message, "GPUs of this machine are in use")
	})
	touch(t, second+"/go")
	touch(t, first+"/go")
	b.ended(t, holder)
	require.Equal(t, "[GPU-a]", said(t, b.ended(t, bound)))
}

func TestTheNodeSaysWhatDevicesItHas(t *testing.T) {
	b := setup(t, with(h200("GPU-a", "GPU-b")...))
	read := func() *corev1.Node {
		found, err := b.client.CoreV1().Nodes().Get(t.Context(), b.cfg.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return found
	}
	found := read()
	gpus := found.Status.Allocatable["nvidia.com/gpu"]
	require.Equal(t, "2", gpus.String())
	require.Equal(t, "nvidia-h200", found.Labels[acceleratorLabel])
	require.NotContains(t, found.Labels, partitionLabel)
	b.crash(t)
	b.cfg.Devices = nil
	b.start(t)
	found = read()
	require.NotContains(t, found.Status.Allocatable, corev1.ResourceName("nvidia.com/gpu"))
	require.NotContains(t, found.Status.Capacity, corev1.ResourceName("nvidia.com/gpu"))
	require.NotContains(t, found.Labels, acceleratorLabel)
}

// TestWithoutDevicesTheVariablesAreLeftAlone: what the node does not know it does not hide.
func TestWithoutDevicesTheVariablesAreLeftAlone(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "3")
	b := setup(t)
	dir := t.TempDir()
	touch(t, dir+"/go")
	require.Equal(t, "[3]", said(t, b.run(t, b.shell(saysDevices(dir)))))
	require.Empty(t, b.node.Devices(t.Context()))
}

func TestHowBusyTheDevicesOfANodeAre(t *testing.T) {
	b := setup(t, func(c *node.Config) {
		c.Devices = h200("GPU-a")
		c.DeviceTools = func(_ context.Context, name string, _ ...string) (string, error) {
			if name != "nvidia-smi" {
				return "", os.ErrNotExist
			}
			return "GPU-a, 87, 12288\n", nil
		}
	})
	require.Equal(t, "87 % busy, 12.0 of 141.0 GiB in use", b.node.Devices(t.Context())[0].Busy)
}
