package ident

import "regexp"

// DefaultCluster is the id of the cluster that runs the actions of every queue that names none.
const DefaultCluster = "default"

// ClusterRule says in an error what IsCluster accepts.
const ClusterRule = "must be 1 to 32 lower-case letters, digits and dashes"

var cluster = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// IsCluster reports whether a text can be the id of a cluster. Such ids are parts of labels, of the names of Leases and
// of hosts.
func IsCluster(text string) bool { return cluster.MatchString(text) }
