// Package configuration is the configuration of a process: its sections, their defaults and checks, and where each value comes from.
package configuration
