package podpolicy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// capabilitiesRule and hostPathRule have lists of their own in the configuration.
const (
	capabilitiesRule = "capabilities"
	hostPathRule     = "hostPathVolumes"
)

// rule is one rule of the baseline.
type rule struct {
	name  string
	check policy.CheckPodFn
}

// rules are those of the baseline, in their latest version and by their names in the configuration.
func rules() []rule {
	var result []rule
	for _, check := range policy.DefaultChecks() {
		if check.Level == api.LevelBaseline {
			name := strings.TrimSuffix(string(check.ID), "_baseline")
			result = append(result, rule{name, check.Versions[len(check.Versions)-1].CheckPod})
		}
	}
	slices.SortFunc(result, func(a, b rule) int { return strings.Compare(a.name, b.name) })
	return result
}

// ruleNames are the rules that Config.Exceptions may name.
func ruleNames() []string {
	var names []string
	for _, r := range rules() {
		if r.name != capabilitiesRule && r.name != hostPathRule {
			names = append(names, r.name)
		}
	}
	return names
}

// checkSecurity applies the baseline of the Pod Security Standards, without what the configuration excepts.
func (p *Policy) checkSecurity(spec *corev1.PodSpec, annotations map[string]string) []Violation {
	if p.config.PodSecurity == levelPrivileged {
		return nil
	}
	spec = p.withoutAllowedCapabilities(spec)
	var found []Violation
	for _, r := range rules() {
		if r.name == hostPathRule || slices.Contains(p.config.Exceptions, r.name) {
			continue
		}
		result := r.check(&metav1.ObjectMeta{Annotations: annotations}, spec)
		if result.Allowed {
			continue
		}
		violation := Violation{Area: PodSpec, What: result.ForbiddenReason, Allow: "exceptions: [" + r.name + "]"}
		if result.ForbiddenDetail != "" {
			violation.What += ": " + result.ForbiddenDetail
		}
		switch {
		case r.name == capabilitiesRule:
			violation.Allow = fmt.Sprintf("capabilities: [%s]", strings.Join(addedCapabilities(spec), ", "))
		case r.check(&metav1.ObjectMeta{}, spec).Allowed:
			violation.Area = Annotations
		}
		found = append(found, violation)
	}
	return found
}

// withoutAllowedCapabilities returns the pod without the capabilities that the configuration allows beyond the baseline.
func (p *Policy) withoutAllowedCapabilities(spec *corev1.PodSpec) *corev1.PodSpec {
	if len(p.config.Capabilities) == 0 {
		return spec
	}
	spec = spec.DeepCopy()
	eachContainer(spec, func(container *corev1.Container) {
		if context := container.SecurityContext; context != nil && context.Capabilities != nil {
			context.Capabilities.Add = slices.DeleteFunc(context.Capabilities.Add, func(c corev1.Capability) bool {
				return matches(p.config.Capabilities, string(c))
			})
		}
	})
	return spec
}

// addedCapabilities are all that the containers add, each once.
func addedCapabilities(spec *corev1.PodSpec) []string {
	var names []string
	eachContainer(spec, func(container *corev1.Container) {
		if context := container.SecurityContext; context != nil && context.Capabilities != nil {
			for _, c := range context.Capabilities.Add {
				names = append(names, string(c))
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}
