package figures

import (
	"strconv"
	"strings"
)

// budgetOf is the limit for a figure; empty where the design sets none.
func budgetOf(name, figure string) string {
	if size, found := strings.CutPrefix(name, "fan-out-"); found {
		if n, kubelet := strings.CutSuffix(size, "-kubelet"); kubelet && n != "" {
			name = "fan-out-pods-kubelet"
		}
		if _, err := strconv.Atoi(size); err == nil {
			name = "fan-out-pods" // whatever their number
		}
	}
	if name == "apps-demo" {
		name = "apps"
	}
	return Budgets[name+"/"+figure]
}

// Budgets are the limits that the design sets, by case and figure. The report shows them; nothing enforces them.
var Budgets = map[string]string{
	"idle/memory of the server":                          "120",
	"pod/CreateRun to pod p50":                           "30",
	"pod/CreateRun to pod p99":                           "100",
	"child-end/from its status stored p50":               "10",
	"child-end/from its status stored p99":               "50",
	"triggers/lateness p99":                              "250",
	"abort-waiting/AbortRun answered after":              "100",
	"abort-waiting/all ended after":                      "30",
	"abort-waiting/Enqueue in another run meanwhile p99": "100",
	"replicas/CreateRun during the upgrade p99":          "1000",
	"chain-engine/per link":                              "30",
	"chain-traces/per link":                              "30",
	"fan-out-engine/finished actions":                    "at least 300",
	"fan-out-traces/finished actions":                    "at least 300",
	"fan-out-engine/writes of TaskActions":               "4",
	"fan-out-pods/finished actions":                      "at least 120",
	"fan-out-pods/share of bare pods":                    "at least 75",
	"fan-out-pods-kubelet/share of bare pods":            "at least 75",
	"fan-out-pods/writes of TaskActions":                 "4",
	"fan-out-pods/extra pods":                            "0",
	"fan-out-retries/extra pods":                         "0",
	"reusable/finished actions":                          "at least 300",
	"reusable/CPU per action, server":                    "1",
	"apps/added through the gateway p50":                 "0.5",
	"apps/added through the gateway p99":                 "3",
	"apps/throughput through the gateway":                "at least 60",
	"apps/cold start without the program's own p50":      "1000",
	"apps/growth of the server by the apps":              "30",
	"reads/ListRuns default p99":                         "20",
	"reads/ListRuns newest first p99":                    "20",
	"reads/ListRuns of 200 p99":                          "20",
	"reads/ListRuns failed, newest first p99":            "20",
	"reads/ListRuns of a task p99":                       "20",
	"reads/ListRuns page after 20000 rows p99":           "20",
	"reads/ListActions of a run of 10 p99":               "20",
	"reads/ListActions of the wide run p99":              "20",
	"reads/WatchActions of a run of 10, snapshot p99":    "20",
	"reads/WatchActions of the wide run, first p99":      "20",
}
