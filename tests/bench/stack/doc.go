// Package stack starts what a case measures: a Postgres, an API server and its store, a node that ends pods without running
// them, and one server or several replicas. It also has the client of the cases.
package stack
