// Package watch tells clients what changes in runs: to parents their children, to users details, lists and trees. It
// stands on the store's event log. The Hub is woken by the local writer, by Postgres notifications of other replicas
// and, should both be lost, by a poll; it reads each run's log once for all who watch that run. Streams are the rpc
// handlers on top. docs/watches.md explains the guarantees.
package watch
