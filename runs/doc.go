// Package runs is the service that owns runs, actions, tasks and projects: the state machine (runs/state), its store
// (runs/store), the admission of queued actions (runs/admission), the watches (runs/watch) and their Connect
// handlers. Other services use it through generated client interfaces; only manager imports it.
package runs
