// Package pgdb is how services reach Postgres: the connection pool, migrations, LISTEN with reconnection, leases, and
// which errors pass by themselves. The stores build on it. It knows no table but leases.
package pgdb
