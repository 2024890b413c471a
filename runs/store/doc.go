// Package store keeps runs, actions, tasks and projects in Postgres: the batched writer that alone changes actions, and the
// narrow reads behind lists, details and watches. It stands below the use cases of package runs, and is the only package of
// the service that speaks SQL.
package store
