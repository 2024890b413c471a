// Package port serves the one port of a process: routes, certificates, limits of clients, the level of the log.
package port
