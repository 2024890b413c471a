// Package v1 is the Kubernetes API group flyte.org/v1. It has one kind, TaskAction: the intent that an admitted action be
// run. The actions service creates TaskActions from assignments and deletes them; the reconciler of executor turns them
// into pods. Postgres is the source of truth; a TaskAction exists only while its action has work to do. The package
// imports nothing of this module, so that other projects can use it.
//
// +kubebuilder:object:generate=true
// +groupName=flyte.org
package v1
