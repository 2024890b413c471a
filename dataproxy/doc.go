// Package dataproxy gives clients access to data without credentials for the object store: signed URLs for uploads
// and downloads, inputs and outputs of actions, logs of live and finished pods, the code that a task runs, and launch
// forms. It keeps no state. It asks runs and executor through Connect clients where data are stored; the bytes are in
// the object store. It also serves ClusterService, which directs every client back to this server.
package dataproxy
