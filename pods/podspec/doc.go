// Package podspec builds the pods of attempts, for any plugin: containers, resources, environment, secrets, volumes,
// placement, the policy on what tasks may ask for, templates in arguments, the merge with the cluster's PodTemplates, and the co-pilot of raw containers. A
// Builder returns a pod template; plugins put it into a Pod, a Job or a larger object. docs/pods.md lists the order in
// which a pod is built. The package creates nothing in the cluster and reads no status.
package podspec
