// Package pgbundle unpacks Postgres programs from an archive, once per archive. The demo brings such an archive, and a checkout
// unpacks the same one for its tests.
package pgbundle
