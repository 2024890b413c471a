// Package rpc is the common part of all Connect services: domain errors and their mapping to codes, the gate and the
// interceptor chain, the limits of requests, the transport between services of one process, and reflection. The rules that it enforces are
// those of package authz. All services import it, and it imports none of them. It is the
// only package that creates connect errors.
package rpc
