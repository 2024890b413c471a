package podspec

import (
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts"
)

// environment returns the environment of a container with variables of its own: the platform wins over the run, the run
// over the task, the task over the defaults. Containers of the pod template get no variables of the run. Each name appears
// once. The order is deterministic, and variables that a pod or its template declares may refer to earlier ones as
// $(NAME). All other values arrive as they are.
func (b *Builder) environment(subject *Subject, own []corev1.EnvVar, declared bool) []corev1.EnvVar {
	var run []corev1.EnvVar
	if declared {
		run = subject.Env
	}
	defaults := b.brakes()
	for _, pair := range b.config.DefaultEnv {
		name, value, _ := cutEnv(pair)
		defaults = append(defaults, Variable(name, value))
	}
	return merge(defaults, own, run, subject.Platform)
}

// brakes returns how fast the SDK's controller in a task may launch children. Its own brakes are for servers that carry less. It
// retries what the server refuses with resource_exhausted for as long as it takes.
func (b *Builder) brakes() []corev1.EnvVar {
	var result []corev1.EnvVar
	for _, brake := range []struct {
		name  string
		limit int
	}{{"_F_MAX_QPS", b.config.LaunchRate}, {"_F_P_CNC", b.config.ChildrenInFlight}} {
		if brake.limit > 0 {
			result = append(result, Variable(brake.name, strconv.Itoa(brake.limit)))
		}
	}
	return result
}

// environmentFrom returns the sources of variables for every container. Variables that are set by name win over them.
func (b *Builder) environmentFrom() []corev1.EnvFromSource {
	var result []corev1.EnvFromSource
	optional := true
	for _, name := range b.config.EnvFromSecrets {
		result = append(result, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional,
		}})
	}
	for _, name := range b.config.EnvFromConfigMaps {
		result = append(result, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional,
		}})
	}
	return result
}

// merge joins groups of variables, the later winning. The last group comes first.
func merge(groups ...[]corev1.EnvVar) []corev1.EnvVar {
	total := 0
	for _, group := range groups {
		total += len(group)
	}
	strongest := make(map[string]*corev1.EnvVar, total)
	for _, group := range groups {
		for i := range group {
			strongest[group[i].Name] = &group[i]
		}
	}
	last := len(groups) - 1
	order := append([][]corev1.EnvVar{groups[last]}, groups[:last]...)
	result := make([]corev1.EnvVar, 0, len(strongest))
	for _, group := range order {
		for i := range group {
			if winner, left := strongest[group[i].Name]; left {
				result = append(result, *winner)
				delete(strongest, group[i].Name)
			}
		}
	}
	return result
}

// podName is the variable with the name of the pod, as in Flyte 1.
const podName = "_F_PN"

// platformEnv returns what the SDK's runtime and its controller need to find the run and this installation.
func (b *Builder) platformEnv(about *attempts.Attempt) []corev1.EnvVar {
	var result []corev1.EnvVar
	for _, variable := range about.Environment(b.config.LegacyEnv) {
		result = append(result, Variable(variable.Name, variable.Value))
	}
	if b.config.LegacyEnv {
		field := &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}
		result = append(result, corev1.EnvVar{Name: podName, ValueFrom: &corev1.EnvVarSource{FieldRef: field}})
	}
	return append(result, b.installationEnv(about.Action.Run.Project, about.Action.Run.Domain)...)
}

// appPlace represents the name of an app in the pattern of its address; the SDK replaces it.
const appPlace = "{app_fqdn}"

// installationEnv returns what the SDK needs to find this installation, and the apps of a project and domain.
func (b *Builder) installationEnv(project, domain string) []corev1.EnvVar {
	result := []corev1.EnvVar{Variable("_U_ORG_NAME", b.config.Organization)}
	if apps := b.config.appsURL(); apps != "" {
		pattern := apps + "/" + url.PathEscape(project) + "/" + url.PathEscape(domain) + "/" + appPlace
		result = append(result, Variable(attempts.AppsVariable, pattern))
	}
	if b.config.Endpoint != "" {
		result = append(result, Variable(attempts.EndpointVariable, b.config.Endpoint))
		if b.config.Insecure {
			result = append(result, Variable(attempts.InsecureVariable, "true"))
		}
	}
	return result
}

func cutEnv(pair string) (name, value string, found bool) { return strings.Cut(pair, "=") }
