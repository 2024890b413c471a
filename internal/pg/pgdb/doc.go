// Package pgdb is how services reach Postgres: the connection pool, migrations, LISTEN with reconnection, leases, and
// which errors pass by themselves. It stands below the stores, beside internal/pg/pgembed, and knows no table but leases.
package pgdb
