// Package v1 is the Kubernetes API group flyte.org/v1. It has one kind, TaskAction: the intent that an admitted action be
// run. The bridge of actions creates TaskActions from assignments and deletes them; the reconciler of executor
// turns them into pods. Postgres holds the truth; a TaskAction lives only as long as its action has work to do.
//
// +kubebuilder:object:generate=true
// +groupName=flyte.org
package v1
