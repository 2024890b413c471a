package ident

// DefaultCluster is the id of the cluster that runs the actions of every queue that names none.
const DefaultCluster = "default"
