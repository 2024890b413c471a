// Package store writes runs and actions in Postgres, and has the migrations of all tables of the service.
//
// Writer makes every change to unfinished actions: operations decide in Go code about rows that a batch has locked, and the
// batch commits in one transaction. The packages below have the rest of the service's SQL: lists and watches read, worklists
// feed the loops, catalog keeps tasks, projects and settings, deletions removes finished runs. They share schema, which has
// the rows, sqltext and notices. The package storetest fills databases for tests and benchmarks.
package store
