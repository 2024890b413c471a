package measure

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// asks is what pods request and may use at most. The resources are processors, memory and disk; nil is none.
type asks struct {
	request, limit [3]*uint64
	gpus           uint32
}

// of are the names of the resources.
var of = [3]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// asksOf sums over the containers of a pod that run at the same time. A pod has a limit where each of these containers has.
func asksOf(pod *corev1.Pod) (all asks) {
	containers := make([]corev1.Container, 0, len(pod.Spec.Containers))
	containers = append(containers, pod.Spec.Containers...)
	for i := range pod.Spec.InitContainers {
		if policy := pod.Spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, pod.Spec.InitContainers[i])
		}
	}
	for i := range containers {
		all = all.plus(asksOfContainer(&containers[i]), i == 0)
	}
	return all
}

func asksOfContainer(c *corev1.Container) (one asks) {
	for i, name := range of {
		one.request[i], one.limit[i] = amount(c.Resources.Requests, name), amount(c.Resources.Limits, name)
	}
	for name, quantity := range c.Resources.Requests {
		if strings.HasSuffix(string(name), "/gpu") {
			one.gpus += uint32(min(max(quantity.Value(), 0), 1<<15))
		}
	}
	return one
}

func amount(list corev1.ResourceList, name corev1.ResourceName) *uint64 {
	quantity, given := list[name]
	if !given {
		return nil
	}
	value := quantity.Value()
	if name == corev1.ResourceCPU {
		value = quantity.MilliValue()
	}
	result := uint64(max(0, value))
	return &result
}

// plus adds what another one requests. Without a limit of one of them there is none.
func (a asks) plus(b asks, first bool) asks {
	if first {
		return b
	}
	for i := range a.request {
		add(&a.request[i], b.request[i])
		if a.limit[i] == nil || b.limit[i] == nil {
			a.limit[i] = nil
			continue
		}
		add(&a.limit[i], b.limit[i])
	}
	a.gpus += b.gpus
	return a
}

func (a asks) requests() *insightv1.Amounts { return amountsOf(a.request) }
func (a asks) limits() *insightv1.Amounts   { return amountsOf(a.limit) }

func amountsOf(list [3]*uint64) *insightv1.Amounts {
	return &insightv1.Amounts{CpuMilli: list[0], MemoryBytes: list[1], DiskBytes: list[2]}
}
