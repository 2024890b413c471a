package main

// clusters shows the clusters that run work, each as the API sees it.
func clusters() dashboard {
	return dashboard{id: "flyte-clusters", title: "Flyte / Clusters", panels: []panel{
		one("What they are", "short", "max by (cluster, phase) (flyte_clusters_phase{$j})", "{{cluster}} {{phase}}", "Ready, cordoned, draining, removed, away or lost."),
		one("Silence", "s", "max by (cluster) (flyte_clusters_silence_seconds{$j})", "{{cluster}}", "Since a controller was heard. Clusters are away after 10 s."),
		one("Free share", "percentunit", "max by (cluster, resource) (flyte_clusters_free{$j}) / (max by (cluster, resource) (flyte_clusters_capacity{$j}) > 0)", "{{cluster}} {{resource}}", "Of what nodes have for pods, what no pod has requested."),
		one("Capacity", "short", `max by (cluster, resource) (flyte_clusters_capacity{$j, resource!~"memory|.*storage.*"})`, "{{cluster}} {{resource}}", "Cores and devices."),
		one("Actions", "short", "max by (cluster, state) (flyte_clusters_actions{$j})", "{{cluster}} {{state}}", "Waiting for the cluster alone, starting there, running there."),
		rate("Taken back", "flyte_clusters_reclaimed_total", "cluster, reason, state", "{{cluster}} {{reason}} {{state}}", "Attempts that run again elsewhere. Waiting ones had not begun."),
		rate("Refused reports", "flyte_clusters_reports_refused_total", "cluster", "{{cluster}}", "Of attempts that were taken back from the cluster."),
		rate("Links opened", "flyte_clusters_connections_total", "cluster", "{{cluster}}", "Each lasts about ten minutes."),
		one("Controllers", "short", "max by (cluster) (flyte_clusters_controllers{$j})", "{{cluster}}", "Replicas that are connected."),
		one("Versions apart", "short", "max by (cluster) (flyte_clusters_version_skew{$j})", "{{cluster}}", "Minor versions by which the controller is newer; negative if it is older."),
		rate("Refused links", "flyte_clusters_refused_total", "reason", "{{reason}}", "Controllers that may not connect."),
		one("Logs of running pods", "short", "sum by (instance) (flyte_clusters_logs{$j})", "{{instance}}", "That are read through links."),
	}}
}
