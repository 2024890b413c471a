package podpolicy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Section is where the configuration of the policy is.
const Section = "executor.pod.policy"

// Asked is what a task, and the run that it belongs to, ask of a pod.
type Asked struct {
	// Spec is the pod as the task declares it, before a pod template is merged with it.
	Spec *corev1.PodSpec
	// Annotations of the pod, as the task and the run declare them.
	Annotations map[string]string
	// ServiceAccount is the one that the run or the task names; empty for none.
	ServiceAccount string
	// GrantedAccounts are accounts that settings or the configuration name for this pod.
	GrantedAccounts []string
}

// Violation is one thing that a task may not ask for.
type Violation struct {
	// Area is what part of the request it concerns.
	Area Area
	// What was asked for: the container or the volume, the field, the value.
	What string
	// Allow is the configuration that would allow it; empty where nothing would.
	Allow string
}

// Area is a part of what a task asks for.
type Area int

// The areas.
const (
	PodSpec Area = iota + 1
	Annotations
	ServiceAccount
)

// String says it in words.
func (v Violation) String() string {
	if v.Allow == "" {
		return v.What
	}
	return fmt.Sprintf("%s (the operator can allow it with %s.%s)", v.What, Section, v.Allow)
}

// Words joins violations into one sentence.
func Words(violations []Violation) string {
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// Policy applies a configuration. It is safe for concurrent use.
type Policy struct{ config Config }

// New returns the policy of a valid configuration.
func New(config Config) *Policy { return &Policy{config: config} }

// Check returns everything that the policy does not allow, in a stable order; empty for an allowed pod. It changes
// nothing.
func (p *Policy) Check(asked Asked) []Violation {
	found := p.checkSpec(asked.Spec)
	found = append(found, p.checkSecurity(asked.Spec, asked.Annotations)...)
	return append(found, p.checkAccount(asked.ServiceAccount, asked.GrantedAccounts)...)
}

// checkSpec applies the rules of this system to a pod spec.
func (p *Policy) checkSpec(spec *corev1.PodSpec) []Violation {
	found := p.checkFields(spec)
	for i := range spec.Volumes {
		found = append(found, p.CheckVolume(&spec.Volumes[i])...)
	}
	eachContainer(spec, func(container *corev1.Container) {
		found = append(found, p.checkEnvironment(container)...)
	})
	return found
}

// CheckContainer judges a container that a task takes over, by the rules for its own.
func (p *Policy) CheckContainer(container *corev1.Container) []Violation {
	return p.Check(Asked{Spec: &corev1.PodSpec{Containers: []corev1.Container{*container}}})
}

func eachContainer(spec *corev1.PodSpec, do func(*corev1.Container)) {
	for i := range spec.InitContainers {
		do(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		do(&spec.Containers[i])
	}
}
