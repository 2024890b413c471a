package podenv

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Node is what the downward API exposes of the node.
type Node struct {
	Name string
	// IP is the address of the node.
	IP string
	// PodIP is the address of the pod if it is not that of the node.
	PodIP string
	// Allocatable stands in for limits that a container does not set.
	Allocatable corev1.ResourceList
}

// Field is the value of a downward API field of the pod.
func Field(pod *corev1.Pod, node Node, path string) (string, error) {
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
		return "", fmt.Errorf("the field %q is not one that can be referred to by key", path)
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return mapText(pod.Labels), nil
	case "metadata.annotations":
		return mapText(pod.Annotations), nil
	case "spec.nodeName":
		return node.Name, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return node.IP, nil
	case "status.podIP", "status.podIPs":
		return cmp.Or(node.PodIP, node.IP), nil
	}
	return "", fmt.Errorf("the field %q cannot be referred to", path)
}

// subscript takes name['key'] apart.
func subscript(path string) (name, key string, ok bool) {
	name, rest, ok := strings.Cut(path, "['")
	if !ok {
		return "", "", false
	}
	key, ok = strings.CutSuffix(rest, "']")
	return name, key, ok
}

func mapText(m map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, key+"="+strconv.Quote(m[key]))
	}
	return strings.Join(lines, "\n")
}
