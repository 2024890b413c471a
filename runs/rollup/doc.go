// Package rollup counts actions that ended, so that questions over many runs need not read them: how tasks do, what the cache says, and
// what was used. The transaction that ends an action lists it; one replica, the holder of a lease, counts what is listed.
package rollup
