// Package obs is logging, traces and metrics: it makes the process's logger and telemetry providers from
// configuration and hands them out. Nothing leaves the machine unless an OTLP endpoint is configured. It stands below
// manager; services get what it makes and do not import it.
package obs
