// Package rpc is what every Connect service of the house has in common: domain errors and their one mapping to
// codes, the interceptor chain, the table that names an action for every procedure, the in-memory transport between
// services of one process, health and reflection. It stands below all services and imports none of them; it is
// the only package that makes connect errors.
package rpc
