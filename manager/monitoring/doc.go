// Package monitoring tests what operators watch an installation with: that metrics keep their conventions, that the list of
// metrics, the dashboards and the alerts name what a server really serves, that each alert fires on its fault, and that each
// has a runbook. It builds on manager.
package monitoring
