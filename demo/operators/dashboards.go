package operators

// Dashboard is where a pod shows what its cluster does.
type Dashboard struct{ Name, URI, Role string }

// Dashboards are those of clusters, by the name of the operator. Programs of this machine reach every pod.
func Dashboards() map[string]Dashboard {
	return map[string]Dashboard{
		"ray":  {Name: "Ray dashboard", URI: "http://{{.podIP}}:" + dashboardPort, Role: "head"},
		"dask": {Name: "Dask dashboard", URI: "http://{{.podIP}}:8787/status", Role: "scheduler"},
	}
}
