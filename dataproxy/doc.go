// Package dataproxy is how clients reach data without credentials of the object store: signed locations for uploads and
// downloads, inputs and outputs of actions, logs while a pod lives and after it has gone, the code that a task runs, and launch forms. It keeps
// nothing. Where data lie is known to runs and executor, which it asks through Connect clients; the bytes are in the object
// store. It also serves ClusterService, which sends every client back to this server.
package dataproxy
