// Package podnet gives pods addresses and names of their own on one machine. A pod asks for an address by an annotation, and for
// names by the hostAliases of its specification, as it would on any node.
package podnet

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// AnnotationAddress is the address that a pod has to itself, in shim.Subnet. Who creates pods sees to it that no two have the same.
const AnnotationAddress = "node.flyte.org/address"

// AnnotationInsteadOf names the operator whose work the demo does for a pod, such as KubeRay.
const AnnotationInsteadOf = "node.flyte.org/instead-of"

// Reason is that of the notice of a pod that has an address.
const Reason = "LocalCluster"

// Notice says how a pod that has an address runs.
func Notice(pod *corev1.Pod) string {
	text := "it runs as a cluster of processes on this machine"
	if operator := pod.Annotations[AnnotationInsteadOf]; operator != "" {
		text += ", started by the demo and not by " + operator
	}
	return text
}

// Address is the address that a pod has to itself; false if it has that of the node.
func Address(pod *corev1.Pod) (netip.Addr, bool) {
	given, err := netip.ParseAddr(pod.Annotations[AnnotationAddress])
	return given, err == nil && shim.Subnet().Contains(given)
}

// IP is the address of a pod on a node.
func IP(pod *corev1.Pod, node string) string {
	if own, ok := Address(pod); ok {
		return own.String()
	}
	return node
}

// Hostname is the name by which a pod knows itself.
func Hostname(pod *corev1.Pod) string {
	if _, ok := Address(pod); ok && pod.Spec.Hostname != "" {
		return pod.Spec.Hostname
	}
	return pod.Name
}

// full is the name by which the other pods of its headless service find a pod; empty if it is in none.
func full(pod *corev1.Pod) string {
	if pod.Spec.Hostname == "" || pod.Spec.Subdomain == "" {
		return ""
	}
	return fmt.Sprintf("%s.%s.%s.svc.cluster.local", pod.Spec.Hostname, pod.Spec.Subdomain, pod.Namespace)
}

// Hosts is the file /etc/hosts of a pod: its own names, with that of the machine, then its hostAliases, then those of the
// machine's own file. The full name comes first, as a kubelet has it: programs such as torchrun tell it to the other pods.
func Hosts(pod *corev1.Pod, node, machine string, own []byte) []byte {
	var file bytes.Buffer
	file.WriteString("# Names of a pod. [local node]\n")
	names := []string{Hostname(pod)}
	if _, ok := Address(pod); ok {
		names = slices.Compact([]string{full(pod), Hostname(pod), pod.Name, machine})
		names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	}
	fmt.Fprintf(&file, "%s\t%s\n", IP(pod, node), strings.Join(names, " "))
	for _, alias := range pod.Spec.HostAliases {
		fmt.Fprintf(&file, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, " "))
	}
	for line := range strings.Lines(string(own)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && len(names) > 1 && fields[0] != "#" && slices.Contains(fields[1:], machine) {
			fields = slices.DeleteFunc(fields, func(word string) bool { return word == machine })
			if len(fields) < 2 { //nolint:mnd // an address and a name
				continue
			}
			line = strings.Join(fields, " ") + "\n"
		}
		file.WriteString(line)
	}
	return file.Bytes()
}

// Direct lists what a pod reaches without a proxy: its cluster.
func Direct(pod *corev1.Pod) []string {
	if _, ok := Address(pod); !ok {
		return nil
	}
	result := []string{shim.Subnet().String(), IP(pod, "")}
	for _, alias := range pod.Spec.HostAliases {
		result = append(append(result, alias.IP), alias.Hostnames...)
	}
	return result
}
