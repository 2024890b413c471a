package main

// database shows Postgres and what waits in it to be delivered.
func database() dashboard {
	return dashboard{id: "flyte-postgres", title: "Flyte / Postgres and outboxes", panels: []panel{
		{title: "Connections", unit: "short", about: "Of all processes, and how many they may have.", queries: []query{
			{"sum by (state) (flyte_database_connections{$j})", "{{state}}"},
			{"sum(flyte_database_connections_max{$j})", "allowed"},
		}},
		one("Waiting for a connection", "s", "sum by (instance) (rate(flyte_database_wait_seconds_total{$j}[$__rate_interval]))", "{{instance}}", "Seconds that callers waited, for each second."),
		one("Changes to be stored", "short", "sum by (instance) (flyte_writes_waiting{$j})", "{{instance}}", "They wait for the next transaction."),
		one("The oldest change", "s", "max by (instance) (flyte_writes_oldest_seconds{$j})", "{{instance}}", "More than health.oldestWrite degrades the process."),
		one("Size", "bytes", "max(flyte_database_size_bytes{$j})", "database", "With all indexes."),
		one("Actions stored", "short", "max(flyte_actions_stored{$j})", "actions", "As Postgres estimates them."),
		one("Notifications that wait", "s", "max by (list) (flyte_notifications_oldest_seconds{$j})", "{{list}}", "Age of the oldest."),
		one("Deliveries", "short", "max by (state) (flyte_notifications_deliveries{$j})", "{{state}}", "Dead ones were given up."),
		rate("Tries to deliver", "flyte_notifications_tries_total", "kind, result", "{{kind}} {{result}}", "By kind and result."),
		one("Events that wait", "s", "max by (sink) (flyte_events_backlog_seconds{$j})", "{{sink}}", "Age of the oldest change that a sink has not taken."),
		{title: "Events", unit: "reqps", about: "Taken by sinks, and lost because their runs were deleted or too old.", queries: []query{
			{"sum by (sink) (rate(flyte_events_published_total{$j}[$__rate_interval]))", "{{sink}} published"},
			{"sum by (sink) (rate(flyte_events_lost_total{$j}[$__rate_interval]))", "{{sink}} lost"},
		}},
		one("Webhooks of conditions", "short", "max(flyte_webhooks_pending{$j})", "pending", "Without an answer."),
		rate("Retention", "flyte_retention_deleted_total", "job", "deleted runs", "Runs that retention deleted."),
		one("Runs being deleted", "short", "max(flyte_runs_deleting{$j})", "runs", "Hidden, with data left."),
	}}
}

// calls shows the API and its streams.
func calls() dashboard {
	return dashboard{id: "flyte-api", title: "Flyte / API and streams", panels: []panel{
		one("Calls", "reqps", "topk(10, sum by (rpc_method) (rate(rpc_server_call_duration_seconds_count{$j}[$__rate_interval])))", "{{rpc_method}}", "The ten most frequent, with those between parts."),
		one("Failed because of the server", "reqps", "sum by (rpc_method, rpc_response_status_code) (rate(rpc_server_call_duration_seconds_count{$j"+failed+"}[$__rate_interval]))", "{{rpc_method}} {{rpc_response_status_code}}", "Unavailable, internal, data loss, deadline exceeded."),
		one("Refused", "reqps", "topk(10, sum by (procedure, code) (rate(flyte_rpc_refused_total{$j}[$__rate_interval])))", "{{procedure}} {{code}}", "All calls that were answered with an error, also those that clients caused."),
		one("The slowest", "s", `topk(10, histogram_quantile(0.99, sum by (rpc_method, le) (rate(rpc_server_call_duration_seconds_bucket{$j, rpc_method!~".*/(Watch|Tail).*"}[$__rate_interval]))))`, "{{rpc_method}}", "The 99th percentile, without streams."),
		one("Open streams", "short", "sum by (of) (flyte_watch_streams{$j})", "{{of}}", "Clients and parents that follow runs or lists."),
		one("Runs followed", "short", "sum(flyte_watch_runs{$j})", "runs", "Whose logs are read for streams."),
		quantiles("From a change to its watchers", "flyte_watch_lag_seconds", "", "The age of changes when streams can send them."),
		one("Requests in memory", "bytes", "sum by (stage) (flyte_rpc_decoding_bytes{$j})", "{{stage}}", "Received, unpacked and decoded."),
		rate("Refused by the port", "flyte_port_refused_total", "what", "{{what}}", "Connections and requests of clients that have too many."),
		one("Reports of tracked runs", "reqps", "sum by (outcome) (rate(flyte_tracked_reports_total{$j}[$__rate_interval]))", "{{outcome}}", "Runs that clients execute."),
		one("Goroutines", "short", "go_goroutines{$j}", "{{instance}}", "Growth without an end is a leak."),
	}}
}

// services shows apps and their gateway.
func services() dashboard {
	return dashboard{id: "flyte-apps", title: "Flyte / Apps and gateway", panels: []panel{
		rate("Requests", "flyte_gateway_requests_total", "result", "{{result}}", "Of all apps."),
		one("Errors, by app", "reqps", `topk(10, sum by (app) (rate(flyte_gateway_requests_total{$j, result="error"}[$__rate_interval])))`, "{{app}}", "Server errors and requests without an answer."),
		one("In flight", "short", "sum(flyte_gateway_open{$j})", "open", "Or waiting."),
		one("Waiting for a replica", "short", "sum(flyte_gateway_waiting{$j})", "waiting", "Their apps start or are full."),
		quantiles("Waits", "flyte_gateway_wait_seconds", "", "Of requests that found no replica with room."),
		rate("Wakes", "flyte_gateway_wakes_total", "result", "{{result}}", "Calls that woke sleeping apps."),
		one("Apps", "short", "max by (status) (flyte_apps_count{$j})", "{{status}}", "By status."),
		rate("Rollouts", "flyte_apps_rollouts_total", "result, reason", "{{result}} {{reason}}", "Revisions that serve or failed."),
		quantiles("Time to serve", "flyte_apps_rollout_duration_seconds", "", "From the start of a rollout."),
		rate("Scaling", "flyte_apps_scalings_total", "direction", "{{direction}}", "Changes of the wanted replicas."),
		one("Replicas", "short", "sum by (state) (flyte_deployer_replicas{$j})", "{{state}}", "As the deployers see them."),
		one("Silence of the stream of apps", "s", "max by (instance) (flyte_deployer_stream_silence_seconds{$j})", "{{instance}}", "Heartbeats count, so it stays low."),
		rate("Comparisons of the deployer", "flyte_deployer_syncs_total", "result", "{{result}}", "Of apps with their objects."),
		one("Unsent reports", "short", "sum(flyte_deployer_reports_pending{$j})", "apps", "Apps whose state is not reported."),
	}}
}
