// Package change records changes to existing actions: transitions that executors report, statuses, aborts, values of
// conditions, and due timers. It stores reusable outputs in the cache before it records a success.
package change
