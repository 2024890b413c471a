package podpolicy

import (
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config is the section executor.pod.policy. Every list widens what tasks may ask for; none limits the operator's own pod
// templates and defaults. Names in the lists of names may end with a *, which represents any rest.
type Config struct {
	// PodSecurity is the level of the Pod Security Standards that pods keep as tasks declare them: baseline, or privileged
	// for no such check. For the level restricted, which demands fields that pod templates often set, use
	// actions.taskActions.podSecurity. Default baseline.
	PodSecurity string `config:"podSecurity"`
	// Exceptions are rules of the baseline that tasks need not keep: appArmorProfile, hostNamespaces, hostPorts,
	// hostProbesAndHostLifecycle, privileged, procMount, seLinuxOptions, seccompProfile, sysctls, windowsHostProcess.
	Exceptions []string `config:"exceptions"`
	// Capabilities are Linux capabilities that containers may add beyond those of the baseline, such as SYS_PTRACE.
	Capabilities []string `config:"capabilities"`
	// Volumes are the kinds of volumes that tasks may declare. A list of paths for hostPath would not hold, since a path
	// may be a link; offer directories of nodes by a pod template. Default: those that give access to nothing but the
	// namespace of the task and images.
	Volumes []string `config:"volumes"`
	// Fields are further fields of the pod spec that tasks may set: dnsConfig, dnsPolicy, hostAliases, hostnameOverride,
	// nodeName, overhead, priority, schedulerName, schedulingGroup, shareProcessNamespace, workloadRef. They bypass the
	// scheduler or reach into containers that a pod template adds. Default none.
	Fields []string `config:"fields"`
	// ServiceAccounts are those that tasks and runs may name. Always allowed: the account in the settings of the project
	// and executor.pod.defaultServiceAccount. Default none.
	ServiceAccounts []string `config:"serviceAccounts"`
	// Secrets are Kubernetes Secrets that pod specs may refer to by name, in volumes and in the environment. Secrets that
	// tasks ask for by key come from SecretService and are always allowed. Default none.
	Secrets []string `config:"secrets"`
	// PriorityClasses are those that pod specs may name. Default none.
	PriorityClasses []string `config:"priorityClasses"`
	// RuntimeClasses are those that pod specs may name. Default none.
	RuntimeClasses []string `config:"runtimeClasses"`
}

// Levels of PodSecurity.
const (
	levelBaseline   = "baseline"
	levelPrivileged = "privileged"
)

// DefaultConfig is the baseline of the Pod Security Standards, without volumes that nodes or drivers mount from elsewhere.
func DefaultConfig() Config {
	return Config{
		PodSecurity: levelBaseline,
		Volumes:     []string{"configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"},
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.PodSecurity != levelBaseline && c.PodSecurity != levelPrivileged,
		"podSecurity: must be %s or %s, got %q", levelBaseline, levelPrivileged, c.PodSecurity)
	for _, list := range []struct {
		field         string
		values, known []string
	}{
		{"exceptions", c.Exceptions, ruleNames()},
		{"volumes", c.Volumes, volumeKinds()},
		{"fields", c.Fields, furtherFields()},
	} {
		for i, value := range list.values {
			found.If(!slices.Contains(list.known, value),
				"%s[%d]: must be one of %s, got %q", list.field, i, strings.Join(list.known, ", "), value)
		}
	}
	for _, list := range []struct {
		field string
		names []string
	}{
		{"capabilities", c.Capabilities}, {"serviceAccounts", c.ServiceAccounts},
		{"secrets", c.Secrets}, {"priorityClasses", c.PriorityClasses}, {"runtimeClasses", c.RuntimeClasses},
	} {
		for i, name := range list.names {
			found.If(name == "" || strings.Contains(strings.TrimSuffix(name, "*"), "*"),
				"%s[%d]: must be a name, or the beginning of names followed by *, got %q", list.field, i, name)
		}
	}
	return found.Err()
}

// matches reports whether a list has a name.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		beginning, open := strings.CutSuffix(pattern, "*")
		return pattern == name || open && strings.HasPrefix(name, beginning)
	})
}
