// Package security translates the security contexts of pods to what a process of this machine can have, and refuses the rest.
package security
