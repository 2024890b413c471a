package operators

import "github.com/flyte-binary/flyte-binary/pods/podspec"

// Dashboards are the links to what clusters show of themselves, by the name of the operator. Programs of this machine reach every pod.
func Dashboards() map[string]podspec.LogLink {
	return map[string]podspec.LogLink{
		"ray":  {Name: "Ray dashboard", URI: "http://{{.podIP}}:" + dashboardPort, Roles: []string{"head"}},
		"dask": {Name: "Dask dashboard", URI: "http://{{.podIP}}:8787/status", Roles: []string{"scheduler"}},
	}
}
