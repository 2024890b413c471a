// Package outbound makes the HTTP calls that users' specs ask for, such as webhooks. It refuses to reach private networks
// and this machine, whatever a name resolves to and wherever a redirect leads, and bounds the calls in flight per host.
package outbound
