package manager

import "github.com/flyte-binary/flyte-binary/internal/obs"

// metricLabels are the labels that metrics may have. Each has few values, whatever users do: results, states and kinds of
// this program; procedures of the contract; queues, sinks and clusters of the configuration. The label app is bounded by
// gateway.metricApps. Names of runs, actions and people are not labels: logs and traces have them.
func metricLabels() obs.Labels {
	return obs.Labels{
		"flyte.apps.count":                   {"cluster", "status"},
		"flyte.apps.log.deletions":           {"result"},
		"flyte.apps.rollouts":                {"result", "reason"},
		"flyte.apps.scalings":                {"direction"},
		"flyte.artifacts.registrations":      {"outcome"},
		"flyte.backlog.refused":              {"limit"},
		"flyte.build.info":                   {"version"},
		"flyte.certificate.expiry.timestamp": {"certificate"},
		"flyte.component.degraded":           {"component"},
		"flyte.component.up":                 {"component"},
		"flyte.database.replica.reads":       {"outcome"},
		"flyte.connectors.calls":             {"connector", "procedure", "code"},
		"flyte.connectors.jobs":              {"connector", "state"},
		"flyte.connectors.late":              {"connector"},
		"flyte.connectors.up":                {"connector"},
		"flyte.database.connections":         {"state"},
		"flyte.deployer.logs":                {"result"},
		"flyte.deployer.replicas":            {"state"},
		"flyte.deployer.reports":             {"result"},
		"flyte.deployer.syncs":               {"result"},
		"flyte.drift.repaired":               {"kind"},
		"flyte.events.backlog":               {"sink"},
		"flyte.events.lost":                  {"sink"},
		"flyte.events.published":             {"sink"},
		"flyte.gateway.requests":             {"app", "result"},
		"flyte.gateway.wait":                 {"result"},
		"flyte.gateway.wakes":                {"result"},
		"flyte.limits.refused":               {"limit"},
		"flyte.links.uses":                   {"method", "result"},
		"flyte.loop.held":                    {"loop"},
		"flyte.notifications.deliveries":     {"state"},
		"flyte.notifications.oldest":         {"list"},
		"flyte.notifications.tries":          {"kind", "result"},
		"flyte.port.refused":                 {"what"},
		"flyte.queue.oldest":                 {"queue"},
		"flyte.queue.waiting":                {"queue"},
		"flyte.rpc.decoding":                 {"stage"},
		"flyte.rpc.refused":                  {"procedure", "code"},
		"flyte.secrets.calls":                {"backend", "operation", "outcome"},
		"flyte.tracked.reports":              {"outcome"},
		"flyte.triggers.slots":               {"result"},
		"flyte.uploads.refused":              {"limit"},
		"flyte.usage.nodes":                  {"state"},
		"flyte.watch.streams":                {"of"},
		"flyte.workers.attempts":             {"start"},
		"flyte.workers.count":                {"state"},
		"flyte.workers.slots":                {"state"},
		// Of otelconnect: without the addresses of the server, which every scrape has.
		"rpc.server.call.duration": {"rpc.method", "rpc.response.status_code"},
		"rpc.client.call.duration": {"rpc.method", "rpc.response.status_code"},
	}
}
