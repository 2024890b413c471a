package podpolicy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// plainFields are the fields of a pod spec that every task may set. Other rules look into some of them, and the executor
// overrides some: containers, volumes, accounts, host namespaces.
func plainFields() []string {
	return []string{
		"activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "enableServiceLinks", "hostIPC", "hostNetwork",
		"hostPID", "hostUsers", "hostname", "imagePullSecrets", "initContainers", "nodeSelector", "os", "preemptionPolicy", "priorityClassName",
		"readinessGates", "resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulingGates", "securityContext",
		"serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "subdomain", "terminationGracePeriodSeconds", "tolerations",
		"topologySpreadConstraints", "volumes",
	}
}

// furtherFields are those that Config.Fields may add. Ephemeral containers are not among them: they are added to running
// pods only.
func furtherFields() []string {
	return []string{
		"dnsConfig", "dnsPolicy", "hostAliases", "hostnameOverride", "nodeName", "overhead", "priority", "schedulerName",
		"schedulingGroup", "shareProcessNamespace", "workloadRef",
	}
}

// harmlessValues are those that the API server would fill in anyway.
func harmlessValues() map[string]string {
	return map[string]string{
		"dnsPolicy": string(corev1.DNSClusterFirst), "priority": "0", "schedulerName": corev1.DefaultSchedulerName, "shareProcessNamespace": "false",
	}
}

// checkFields is an allow-list of the fields of a pod spec: one that no one thought of is refused.
func (p *Policy) checkFields(spec *corev1.PodSpec) []Violation {
	var found []Violation
	value := reflect.ValueOf(*spec)
	for i := range value.NumField() {
		name := jsonName(value.Type().Field(i))
		if value.Field(i).IsZero() || slices.Contains(plainFields(), name) || slices.Contains(p.config.Fields, name) {
			continue
		}
		text := fmt.Sprint(reflect.Indirect(value.Field(i)).Interface())
		if text == harmlessValues()[name] {
			continue
		}
		violation := Violation{Area: PodSpec, What: fmt.Sprintf("the pod sets %s to %s", name, clip.Ellipsis(text, mostShown))}
		if slices.Contains(furtherFields(), name) {
			violation.Allow = "fields: [" + name + "]"
		}
		found = append(found, violation)
	}
	for _, class := range []struct {
		field, value, key string
		allowed           []string
	}{
		{"priorityClassName", spec.PriorityClassName, "priorityClasses", p.config.PriorityClasses},
		{"runtimeClassName", textOf(spec.RuntimeClassName), "runtimeClasses", p.config.RuntimeClasses},
	} {
		if class.value != "" && !matches(class.allowed, class.value) {
			found = append(found, Violation{
				Area: PodSpec, What: fmt.Sprintf("the pod sets %s to %q", class.field, class.value), Allow: fmt.Sprintf("%s: [%s]", class.key, class.value),
			})
		}
	}
	return found
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// mostShown is how many bytes of a value a message has.
const mostShown = 100
