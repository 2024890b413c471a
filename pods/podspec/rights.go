package podspec

import "github.com/flyte-binary/flyte-binary/pods/plugin"

// Rights are what every plugin that builds pods asks the API server for, except the creation of pods: to find and delete
// pods, read their logs and PodTemplates, and write the Secrets of attempts. The right to patch labels pods that an earlier
// version created before replicas divided the work.
func Rights() []plugin.Right {
	return []plugin.Right{
		{Resource: "pods", Verbs: []string{"get", "list", "watch", "patch", "delete"}},
		{Resource: "pods/log", Verbs: []string{"get"}},
		{Resource: "podtemplates", Verbs: []string{"get"}},
		{Resource: "secrets", Verbs: []string{"get", "create", "delete"}},
	}
}
