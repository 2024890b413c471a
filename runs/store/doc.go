// Package store keeps runs, actions, tasks, projects and settings in Postgres.
//
// Writer makes every change to unfinished actions: operations decide in Go on rows that a batch has locked, and the
// batch commits in one transaction. Retention, also in this package, deletes finished runs. The other types are
// narrow reads for lists, details, watches and background loops. All SQL of the service is here and in the package
// storetest, which fills databases for tests and benchmarks.
package store
