//go:build !linux

package podvolume

// HaveNamespaces reports whether this process may create mount namespaces.
func HaveNamespaces() bool { return false }
