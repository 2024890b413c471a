// Package manager composes one process from the services: its configuration, its port, the order in which parts start
// and stop. It is the only package that knows all services; it stands above them, below the command tree and the demo.
package manager

//go:generate go run ./cmd/configdoc ../docs/configuration.md
