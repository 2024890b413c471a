// Package pgtest gives each test a fresh, migrated database. One private Postgres serves all tests of a process: it
// starts when the first test asks, and a small watcher outside the process ends it and removes its files however the
// process ends. Only tests import this package.
package pgtest
