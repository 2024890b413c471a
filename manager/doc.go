// Package manager composes one process from the services: configuration, wiring, the one port, and the order of
// start and stop. It is the only package that imports all services, and none of them knows it. Commands that use it
// are in manager/command.
package manager
