package configuration

import (
	"fmt"
	"slices"
	"strings"
)

// Target names the part of an installation that a process runs.
type Target string

const (
	// TargetAll runs everything in one process. It is the default.
	TargetAll Target = "all"
	// TargetAPI runs what clients and tasks call, the loops over Postgres and the console. It never calls Kubernetes.
	TargetAPI Target = "api"
	// TargetController runs one cluster: it creates and deletes TaskActions, reconciles them and serves the logs of their
	// pods. It needs no database; it reaches the API at controlPlane.url with controlPlane.credential.
	TargetController Target = "controller"
)

// Targets lists the modules of each target; the modules that those need come with them.
func Targets() map[Target][]string {
	api := []string{"access", "clusters", "runs", "cache", "actions", "dataproxy", "secret", "notifications", "eventstream", "triggers", "artifacts", "apps", "workers", "connectors", "system", "console", "gateway", "mcp", "port"}
	controller := []string{"executor", "deployer", "workerpods", "link", "actions", "port"}
	return map[Target][]string{TargetAPI: api, TargetController: controller, TargetAll: slices.Concat(api, controller)}
}

// Validate rejects targets that do not exist.
func (t Target) Validate() error {
	known := []Target{TargetAll, TargetAPI, TargetController}
	if slices.Contains(known, t) {
		return nil
	}
	return fmt.Errorf("want %s, got %q", strings.Join([]string{string(TargetAll), string(TargetAPI), string(TargetController)}, ", "), t)
}

// API reports whether the target includes the API.
func (t Target) API() bool { return t != TargetController }

// Controller reports whether the target includes the controller of a cluster.
func (t Target) Controller() bool { return t != TargetAPI }
