// Package manager composes one process from the services: it reads the configuration, binds the port, and starts and stops
// the parts in order. It is the only package that imports all services; only the command tree and the demo import it.
package manager

//go:generate go run ./cmd/configdoc ../docs/configuration.md command/configuration.schema.json
//go:generate go run ./cmd/dashboards ../charts/flyte-binary/files/dashboards
