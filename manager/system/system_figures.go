package system

import (
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs"
)

// figureList grows by groups.
type figureList struct {
	group string
	all   []*insightv1.Figure
}

func (l *figureList) add(name string, value float64, unit, description string) {
	l.all = append(l.all, &insightv1.Figure{Group: l.group, Name: name, Value: value, Unit: unit, Description: description})
}

// metric adds a metric of the process, if there is one.
func (l *figureList) metric(set metricSet, name, metric, unit, description string, wanted func(map[string]string) bool) {
	if value, known := set.sum(metric, wanted); known {
		l.add(name, value, unit, description)
	}
}

// figures returns the figures of the parts, in the order in which work passes through them.
func (s *System) figures(
	components []*insightv1.Component, vitals *runs.Vitals, queues []*insightv1.Queue, metrics metricSet,
) []*insightv1.Figure {
	list := &figureList{}
	s.databaseFigures(list, components, vitals)
	s.clusterFigures(list, components, metrics)
	s.queueFigures(list, queues)

	list.group = "Local node"
	list.metric(metrics, "Warm starts", "flyte_local_node_starts_total", "", "Processes of tasks that were forked from a process that had imported the SDK.", labelled("start", "warm"))
	list.metric(metrics, "Cold starts", "flyte_local_node_starts_total", "", "Processes of containers that were started on their own; the metric has the reasons.", labelled("start", "cold"))

	list.group = "Engine"
	list.add("Changes to be stored", float64(vitals.Unwritten), "", "Changes of actions that wait for the next transaction of this process.")
	list.add("Oldest change", vitals.OldestWrite.Seconds(), "s", "How long the oldest of them has waited, or the transaction in progress.")
	if vitals.Store.Bytes > 0 { // it was read
		list.add("Held back", float64(vitals.Store.Held), "", "Waiting for a cache or recovery lookup before admission.")
		list.add("Overdue", float64(vitals.Store.Overdue), "", "Timeouts, starts and ends that are due and not processed yet.")
		list.add("Webhooks to call", float64(vitals.Store.Webhooks), "", "Webhook calls of conditions that have not been answered yet.")
		list.add("Runs being deleted", float64(vitals.Store.Deletions), "", "Runs that retention has hidden and whose data it is deleting.")
	}

	list.group = "Watches"
	list.add("Open streams", float64(vitals.Watches.Subscribers+vitals.Watches.ListSubscribers), "", "Clients and parents that follow a run, an action or a list of runs.")
	list.add("Runs followed", float64(vitals.Watches.Followed), "", "Runs whose event log this process reads for its streams.")
	list.add("Changes behind", float64(vitals.Watches.Behind), "", "Events in those logs that have not been sent to the streams yet.")
	list.metric(metrics, "Calls answered", "rpc_server_call_duration_seconds", "", "Calls of the API since the start, including calls between parts.", nil)
	list.metric(metrics, "Calls failed", "rpc_server_call_duration_seconds", "", "Calls that failed because of the server: unavailable, internal, data loss or deadline exceeded.", failedCall)
	return list.all
}

// labelled selects samples by one label.
func labelled(name, value string) func(map[string]string) bool {
	return func(labels map[string]string) bool { return labels[name] == value }
}

// failedCall selects calls that failed because of the server.
func failedCall(labels map[string]string) bool {
	switch labels["rpc_response_status_code"] {
	case "INTERNAL", "UNKNOWN", "DATA_LOSS", "UNAVAILABLE", "DEADLINE_EXCEEDED":
		return true
	}
	return false
}

// databaseFigures are about this process's connections, and about the whole database where it answered.
func (s *System) databaseFigures(list *figureList, components []*insightv1.Component, vitals *runs.Vitals) {
	list.group = "Database"
	list.latency(components, "database")
	stat := s.Pool.Stat()
	list.add("Connections in use", float64(stat.AcquiredConns()), "", "Connections of this process that run a query now.")
	list.add("Connections open", float64(stat.TotalConns()), "", "Connections of this process, in use or idle.")
	list.add("Connections allowed", float64(stat.MaxConns()), "", "The limit, database.maxConns.")
	list.add("Waits for a connection", float64(stat.EmptyAcquireCount()), "", "How often since the start a caller waited because all connections were in use.")
	list.add("Time waited", stat.EmptyAcquireWaitTime().Seconds(), "s", "Total time of these waits.")
	if vitals.Store.Bytes > 0 {
		list.add("Size", float64(vitals.Store.Bytes), "bytes", "The whole database with its indexes.")
		list.add("Actions stored", float64(vitals.Store.Actions), "", "Number of actions, estimated by the database.")
	}
}

// clusterFigures come from the metrics of this process, so those of a part that it does not run are missing.
func (s *System) clusterFigures(list *figureList, components []*insightv1.Component, metrics metricSet) {
	list.group = "Cluster"
	list.latency(components, "kubernetes")
	list.metric(metrics, "Requests", "rest_client_requests_total", "", "Requests to the API server since the start.", nil)
	list.metric(metrics, "Requests failed", "rest_client_requests_total", "", "Requests without an answer, or answered with 429 or a server error.",
		func(labels map[string]string) bool {
			return labels["code"] == "<error>" || labels["code"] == "429" || labels["code"] >= "5" && labels["code"] < "6"
		})
	list.metric(metrics, "Actions in the cluster", "flyte_task_actions_live", "", "Admitted, unfinished actions that have a TaskAction or get one.", nil)
	list.metric(metrics, "TaskActions created", "flyte_task_actions_created_total", "", "TaskActions created since the start.", nil)
	list.metric(metrics, "Calls retried", "flyte_task_actions_failures_total", "", "Calls to the API server that failed and were retried.", nil)
	list.metric(metrics, "TaskActions refused", "flyte_task_actions_rejected_total", "", "Actions that failed because the API server refuses their TaskAction.", nil)
	list.metric(metrics, "To be reconciled", "workqueue_depth", "", "Changed TaskActions that the executor has not processed yet.", nil)
	list.metric(metrics, "Being reconciled", "controller_runtime_active_workers", "", "TaskActions that the executor processes now.", nil)
	list.metric(metrics, "Longest reconcile", "flyte_reconcile_longest_seconds", "s", "How long the longest reconcile has been running.", nil)
	list.metric(metrics, "Cleanups waiting", "flyte_cleanups_waiting", "", "Ended actions whose pods and TaskActions wait for their deletion.", nil)
	list.metric(metrics, "Reconciles failed", "controller_runtime_reconcile_errors_total", "", "Reconciles that failed and were retried since the start.", nil)
	list.group = "Storage"
	list.latency(components, "storage")
	list.metric(metrics, "Free space", "flyte_storage_free_bytes", "bytes", "Space that is left on the disk of the storage directory.", nil)
}

func (s *System) queueFigures(list *figureList, queues []*insightv1.Queue) {
	list.group = "Queues"
	for _, queue := range queues {
		list.add(queue.GetName()+": waiting", float64(queue.GetDepth()), "", "Actions in this queue that are not admitted yet.")
		list.add(queue.GetName()+": live", float64(queue.GetActions()), "", "Actions of this queue that are admitted and not terminal.")
		if oldest := queue.GetOldestWaiting(); oldest != nil {
			waited := max(0, s.Clock.Now().Sub(oldest.AsTime()))
			list.add(queue.GetName()+": longest wait", waited.Seconds(), "s", "How long the oldest waiting action has waited.")
		}
	}
}

// latency adds the response time of a component, if it answered.
func (l *figureList) latency(components []*insightv1.Component, name string) {
	for _, component := range components {
		if component.GetName() == name && component.GetHealthy() {
			l.add("Response time", component.GetLatency().AsDuration().Seconds(), "s", "Response time of the last check.")
		}
	}
}
