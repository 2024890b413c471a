package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Ports of the forwarder. The contract reserves them: no app declares them.
const (
	// ForwarderPort accepts what is for the app.
	ForwarderPort = 8012
	// forwarderReady answers whether the app accepts connections.
	forwarderReady = 8022
)

// ForwarderName is the container of the forwarder.
const ForwarderName = "flyte-app-port"

// Forwarder is a container that passes connections on to a program in the same pod.
type Forwarder struct {
	// Image has flyte-binary in its PATH.
	Image string
	// Primary is the container with the program, Port where it listens, possibly on 127.0.0.1 only.
	Primary string
	Port    int32
	// CPU is the request, Memory the request and the limit. They are valid quantities.
	CPU, Memory string
}

// AddForwarder adds the container to a pod. It is a sidecar: it starts before the program and ends after it, so that requests
// in flight survive the program's orderly end. The pod is ready when the program accepts connections.
func AddForwarder(pod *corev1.PodTemplateSpec, f Forwarder) {
	no, yes := false, true
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes}
	if program := find(&pod.Spec, f.Primary); program != nil && program.SecurityContext != nil {
		own := program.SecurityContext
		security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot
		security.Capabilities, security.SeccompProfile = own.Capabilities, own.SeccompProfile
	}
	memory, always := resource.MustParse(f.Memory), corev1.ContainerRestartPolicyAlways
	sidecar := corev1.Container{
		Name: ForwarderName, Image: f.Image, RestartPolicy: &always, Command: []string{"flyte-binary"},
		Args: []string{
			"app-port", fmt.Sprintf("--listen=:%d", ForwarderPort), fmt.Sprintf("--ready=:%d", forwarderReady),
			fmt.Sprintf("--to=127.0.0.1:%d", f.Port),
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(f.CPU), corev1.ResourceMemory: memory},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(forwarderReady)}},
			PeriodSeconds: 2, TimeoutSeconds: 2, FailureThreshold: 3,
		},
		SecurityContext: security, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	pod.Spec.InitContainers = append([]corev1.Container{sidecar}, pod.Spec.InitContainers...)
}
