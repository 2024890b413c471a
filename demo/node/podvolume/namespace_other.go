//go:build !linux

package podvolume

// HaveNamespaces tells whether this process may make mount namespaces.
func HaveNamespaces() bool { return false }
