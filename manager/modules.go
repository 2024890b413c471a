package manager

import "github.com/flyte-binary/flyte-binary/internal/work/lifecycle"

// modules is the whole product as a table: what a process can run, and what each module needs. Targets pick from it; the
// order of building, starting and stopping follows from it.
func modules() lifecycle.Modules[*process] {
	return lifecycle.Modules[*process]{
		// What the services depend on.
		{Name: "database", Build: buildDatabase},
		{Name: "storage", Build: buildStorage},
		// Who calls, and what they may do. It takes its place in the chain before the port answers.
		{Name: "access", Needs: []string{"database"}, Build: buildAccess},
		{Name: "clusters", Needs: []string{"database", "access"}, Build: buildClusters},
		{Name: "kubernetes", Build: buildKubernetes},
		{Name: "election", Needs: []string{"kubernetes"}, After: []string{"database"}, Build: buildElection},

		// The API.
		{Name: "cache", Needs: []string{"database", "storage"}, Build: buildCache},
		{Name: "artifacts", Needs: []string{"database", "storage"}, Build: buildArtifacts},
		{Name: "runs", Needs: []string{"access", "clusters", "database", "storage", "cache", "artifacts"}, Build: buildRuns},
		{Name: "secret", After: []string{"kubernetes"}, Build: buildSecret},
		{Name: "notifications", Needs: []string{"database", "runs"}, Build: buildNotifications},
		{Name: "triggers", Needs: []string{"database", "runs", "artifacts"}, Build: buildTriggers},
		{Name: "apps", Needs: []string{"database", "storage", "runs"}, Build: buildApps},
		{Name: "eventstream", Needs: []string{"database", "runs"}, Build: buildEventStream},
		{Name: "dataproxy", Needs: []string{"storage", "runs"}, Build: buildDataProxy},
		{Name: "system", Needs: []string{"runs"}, After: []string{"kubernetes"}, Build: buildSystem},
		{Name: "console", Needs: []string{"storage"}, Build: buildConsole},
		{Name: "gateway", Needs: []string{"access", "apps"}, Build: buildGateway},
		{Name: "mcp", Needs: []string{"access"}, Build: buildMCP},

		// The controller of a cluster. It meets the API through clients and does not need it here: it may be elsewhere.
		{Name: "events", After: []string{"runs"}, Build: buildEvents},
		{Name: "executor", Needs: []string{"kubernetes", "election", "storage", "events"}, Build: buildExecutor},
		{Name: "deployer", Needs: []string{"kubernetes", "election", "storage"}, Build: buildDeployer},
		{Name: "link", Needs: []string{"executor"}, After: []string{"clusters"}, Build: buildLink},
		{Name: "workerpods", Needs: []string{"kubernetes", "election", "storage"}, Build: buildWorkerPods},

		// Workers of reusable environments, with the API. What they report, the sink of events records.
		{Name: "workers", Needs: []string{"database", "storage", "runs", "events"}, Build: buildWorkers},
		// Tasks that other systems run, with the API.
		{Name: "connectors", Needs: []string{"database", "storage", "runs", "events"}, After: []string{"secret", "gateway"}, Build: buildConnectors},

		// What tasks call, with the API; the owner of the TaskActions, with the controller.
		{Name: "actions", Needs: []string{"events"}, After: []string{"runs", "executor", "link"}, Build: buildActions},

		// The port answers only when everything behind it works.
		{Name: "profiles", Build: buildProfiles},
		{
			Name: "port", Needs: []string{"profiles"}, Build: buildPort,
			After: []string{"access", "clusters", "actions", "workers", "connectors", "dataproxy", "secret", "notifications", "eventstream", "triggers", "artifacts", "apps", "system", "console", "gateway", "mcp"},
		},
	}
}
