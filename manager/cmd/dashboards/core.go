package main

const (
	createRun = `, rpc_method="flyteidl2.workflow.RunService/CreateRun"`
	failed    = `, rpc_response_status_code=~"UNAVAILABLE|INTERNAL|UNKNOWN|DATA_LOSS|DEADLINE_EXCEEDED"`
)

// overview says whether the promises of docs/slos.md are kept.
func overview() dashboard {
	return dashboard{id: "flyte-overview", title: "Flyte / Overview and objectives", panels: []panel{
		{title: "Components", unit: "short", about: "1 while a component answers, as /readyz sees it.", queries: []query{
			{"min by (component) (flyte_component_up{$j})", "{{component}}"},
		}},
		one("Degraded", "short", "max by (component) (flyte_component_degraded{$j})", "{{component}}", "1 for what works, but not as it should; docs/operations.md says what to do."),
		one("Errors of the objectives, last hour", "percentunit", "max by (slo) (flyte:slo_errors:ratio_rate1h{$j})", "{{slo}}", "The budgets: 0.1 % of create_run, 1 % of queue_latency and event_lag."),
		one("Errors of the objectives, last 6 hours", "percentunit", "max by (slo) (flyte:slo_errors:ratio_rate6h{$j})", "{{slo}}", "The same over a longer window."),
		quantiles("CreateRun", "rpc_server_call_duration_seconds", createRun, "How long calls of CreateRun take."),
		quantiles("From a place to an executor", "flyte_queue_wait_seconds", "", "The wait of admitted actions."),
		quantiles("From a change to its watchers", "flyte_watch_lag_seconds", "", "The age of changes when streams can send them."),
		one("Actions that wait", "short", "max by (queue) (flyte_queue_waiting{$j})", "{{queue}}", "Not admitted yet."),
		one("Live actions", "short", "sum(flyte_task_actions_live{$j})", "live", "Admitted and not finished."),
		one("Memory", "bytes", "process_resident_memory_bytes{$j}", "{{instance}}", "Resident memory of each process."),
		one("CPU", "short", "rate(process_cpu_seconds_total{$j}[$__rate_interval])", "{{instance}}", "Cores in use."),
		one("Restarts", "short", "changes(process_start_time_seconds{$j}[1h])", "{{instance}}", "Starts of processes within an hour."),
	}}
}

// work follows runs through admission.
func work() dashboard {
	return dashboard{id: "flyte-runs", title: "Flyte / Runs and admission", panels: []panel{
		one("Runs created", "reqps", `sum(rate(rpc_server_call_duration_seconds_count{$j`+createRun+`, rpc_response_status_code="OK"}[$__rate_interval]))`, "runs", "By clients, triggers and tasks."),
		one("CreateRun that failed", "reqps", "sum by (rpc_response_status_code) (rate(rpc_server_call_duration_seconds_count{$j"+createRun+failed+"}[$__rate_interval]))", "{{rpc_response_status_code}}", "Because of the server. What clients did wrong is not here."),
		one("Actions that wait, by queue", "short", "max by (queue) (flyte_queue_waiting{$j})", "{{queue}}", "ExplainAction says for one action what it waits for."),
		one("The oldest that waits", "s", "max by (queue) (flyte_queue_oldest_seconds{$j})", "{{queue}}", "Also while a limit holds it back."),
		quantiles("From a place to an executor", "flyte_queue_wait_seconds", "", "The wait of admitted actions."),
		one("Silence of admission", "s", "min(flyte_admission_silence_seconds{$j})", "since the last pass", "More than a minute means that nothing is admitted."),
		one("Loops", "short", "min by (loop) (flyte_loop_held{$j})", "{{loop}}", "1 for a loop that some process runs."),
		one("Overdue", "short", "max(flyte_actions_overdue{$j})", "actions", "Timeouts, starts and ends that are due and not processed."),
		one("Held for a lookup", "short", "max(flyte_actions_held{$j})", "actions", "In the cache, or in an earlier run."),
		quantiles("Lateness of triggers", "flyte_triggers_lateness_seconds", "", "From when a slot was due until its run existed."),
		rate("Slots of triggers", "flyte_triggers_slots_total", "result", "{{result}}", "Their outcome."),
		one("Slots without a run", "short", "max(flyte_triggers_backlog{$j})", "slots", "Due, and not started."),
	}}
}

// cluster shows the controller and the API server.
func cluster() dashboard {
	return dashboard{id: "flyte-executor", title: "Flyte / Executor and Kubernetes", panels: []panel{
		one("Live actions", "short", "sum(flyte_task_actions_live{$j})", "live", "Each has a TaskAction, or gets one."),
		{title: "TaskActions", unit: "reqps", about: "Created and deleted.", queries: []query{
			{"sum(rate(flyte_task_actions_created_total{$j}[$__rate_interval]))", "created"},
			{"sum(rate(flyte_task_actions_deleted_total{$j}[$__rate_interval]))", "deleted"},
		}},
		{title: "Trouble with TaskActions", unit: "reqps", about: "Calls that are retried, and objects that the API server refuses.", queries: []query{
			{"sum(rate(flyte_task_actions_failures_total{$j}[$__rate_interval]))", "failed calls"},
			{"sum(rate(flyte_task_actions_rejected_total{$j}[$__rate_interval]))", "rejected"},
		}},
		rate("Repaired drift", "flyte_drift_repaired_total", "kind", "{{kind}}", "docs/operations.md says what each kind means. All return to zero."),
		one("The longest reconcile", "s", "max(flyte_reconcile_longest_seconds{$j})", "longest", "Long ones wait for the object store or the API server."),
		one("Work of the reconciler", "short", "sum by (name) (workqueue_depth{$j})", "{{name}}", "Changed TaskActions that are not processed."),
		one("Cleanups that wait", "short", "sum(flyte_cleanups_waiting{$j})", "waiting", "Ended actions whose pods and TaskActions are to be deleted. Above 600, new TaskActions wait."),
		rate("Failed reconciles", "controller_runtime_reconcile_errors_total", "controller", "{{controller}}", "They are retried."),
		rate("Requests to the API server", "rest_client_requests_total", "code", "{{code}}", "By status."),
		one("Certificates", "s", "min by (certificate) (flyte_certificate_expiry_timestamp_seconds{$j}) - time()", "{{certificate}}", "Time until they expire."),
		one("Free space", "bytes", "min(flyte_storage_free_bytes{$j})", "free", "Of a storage directory; object stores report none."),
		rate("Secrets", "flyte_secrets_calls_total", "backend, outcome", "{{backend}} {{outcome}}", "Calls of the backends."),
	}}
}
