package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group.
const Group = "flyte.org"

// Kind is the kind of a TaskAction.
const Kind = "TaskAction"

// GroupVersion is the group and version of everything here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}

// Resource is the resource of TaskActions, for dynamic clients.
var Resource = GroupVersion.WithResource("taskactions")

// AddToScheme makes the kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TaskAction{}, &TaskActionList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
