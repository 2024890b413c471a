// Package capacity computes what pods request of this machine, what the machine has, and whether the running pods are idle.
package capacity
