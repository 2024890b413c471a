// Package watch streams changes of runs to clients: children to their parent actions; details, lists and trees to
// users. It reads the store's event log. The Hub is woken by the local writer, by Postgres notifications of other
// replicas, and by a poll in case both are lost. It reads each run's log once for all watchers of the run. Streams
// has the rpc handlers. docs/watches.md explains the guarantees.
package watch
