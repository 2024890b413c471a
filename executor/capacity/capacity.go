// Package capacity reads what the nodes of a cluster have for pods, and what pods have requested of it.
package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
)

// page is how many objects are read at once.
const page = 500

// productLabels are the labels by which nodes say what accelerators they have.
var productLabels = []string{
	"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator", "amd.com/gpu.product-name",
	"k8s.amazonaws.com/accelerator", "accelerator",
}

// Read lists the nodes of a cluster that take pods, and the pods on them that have not ended, a page at a time.
func Read(ctx context.Context, kube kubernetes.Interface) (*clustersv1.NodeSummary, error) {
	s := summary{nodes: map[string]map[string]int64{}, products: map[string]bool{}, capacity: map[string]int64{}, largest: map[string]int64{}}
	err := pages(func(options metav1.ListOptions) (string, error) {
		nodes, err := kube.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list nodes: %w", err)
		}
		for i := range nodes.Items {
			s.addNode(&nodes.Items[i])
		}
		return nodes.Continue, nil
	}, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	err = pages(func(options metav1.ListOptions) (string, error) {
		pods, err := kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list pods: %w", err)
		}
		for i := range pods.Items {
			s.addPod(&pods.Items[i])
		}
		return pods.Continue, nil
	}, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"})
	if err != nil {
		return nil, err
	}
	return s.message(), nil
}

// pages calls list until there are no more pages.
func pages(list func(metav1.ListOptions) (next string, err error), options metav1.ListOptions) error {
	options.Limit = page
	for {
		next, err := list(options)
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// summary is what was read so far. Amounts are those of clustersv1.NodeSummary.
type summary struct {
	nodes             map[string]map[string]int64 // what is free, by node
	products          map[string]bool
	capacity, largest map[string]int64
}

func (s *summary) addNode(node *corev1.Node) {
	if node.Spec.Unschedulable || !ready(node) {
		return
	}
	has := amounts(node.Status.Allocatable)
	s.nodes[node.Name] = maps.Clone(has)
	for resource, amount := range has {
		s.capacity[resource] += amount
		s.largest[resource] = max(s.largest[resource], amount)
	}
	for _, label := range productLabels {
		if product := node.Labels[label]; product != "" {
			s.products[product] = true
		}
	}
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (s *summary) addPod(pod *corev1.Pod) {
	free := s.nodes[pod.Spec.NodeName]
	if free == nil {
		return // it waits, or its node takes no pods
	}
	for resource, amount := range requested(&pod.Spec) {
		free[resource] -= amount
	}
	free[string(corev1.ResourcePods)]--
}

// requested is what a pod takes of its node: what its containers request together, or the most that one of its init containers does.
// Init containers that keep running count with the containers.
func requested(spec *corev1.PodSpec) map[string]int64 {
	total := map[string]int64{}
	for i := range spec.Containers {
		add(total, amounts(spec.Containers[i].Resources.Requests))
	}
	first := map[string]int64{} // the most while init containers run
	kept := map[string]int64{}
	for i := range spec.InitContainers {
		wants := amounts(spec.InitContainers[i].Resources.Requests)
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(kept, wants)
			continue
		}
		for resource, amount := range wants {
			first[resource] = max(first[resource], amount+kept[resource])
		}
	}
	add(total, kept)
	for resource, amount := range first {
		total[resource] = max(total[resource], amount)
	}
	add(total, amounts(spec.Overhead))
	return total
}

func add(to, more map[string]int64) {
	for resource, amount := range more {
		to[resource] += amount
	}
}

func amounts(list corev1.ResourceList) map[string]int64 {
	result := make(map[string]int64, len(list))
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			result[string(name)] = quantity.MilliValue()
			continue
		}
		result[string(name)] = quantity.Value()
	}
	return result
}

func (s *summary) message() *clustersv1.NodeSummary {
	free := map[string]int64{}
	for _, node := range s.nodes {
		for resource, amount := range node {
			free[resource] += max(0, amount)
		}
	}
	return &clustersv1.NodeSummary{
		Known: true, Accelerators: slices.Sorted(maps.Keys(s.products)), Capacity: s.capacity, Free: free, Largest: s.largest,
	}
}
