// Package system serves SystemService: what a process runs, how its parts do, and whether it is ready.
package system
