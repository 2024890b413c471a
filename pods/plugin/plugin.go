// Package plugin defines the interface between the reconciler and the plugins that run attempts: create an attempt, report
// its state, clean up after it. Retries, budgets, outputs and reporting belong to the reconciler. Plugin is mandatory;
// Watcher, Logged and Rememberer are optional capabilities. A Definition describes a plugin to the executor before there
// is a connection to the cluster, and the Registry selects the plugin of an attempt.
package plugin

import "context"

// Plugin runs attempts. All methods return quickly, are safe for concurrent use, and may be called at any time, even by
// another process that has never seen the attempt.
type Plugin interface {
	// Name identifies the plugin in configuration, tasks and logs.
	Name() string
	// Advance creates the attempt if it never existed, and returns its state. An error means that the state is unknown
	// now: the call is retried with backoff and consumes no attempt. A lost attempt is a State with a Failure, no error.
	Advance(ctx context.Context, attempt *Attempt) (State, error)
	// Remove deletes what the attempt created, whether it is running (an abort) or has ended. Having nothing to
	// delete is not an error.
	Remove(ctx context.Context, attempt *Attempt) error
}
