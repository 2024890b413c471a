package operated

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition returns the condition of an object's status if it is true, or nil.
func Condition(object *unstructured.Unstructured, kind string) *metav1.Condition {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range all {
		fields, _ := one.(map[string]any)
		text := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		if text("type") == kind && text("status") == string(metav1.ConditionTrue) {
			return &metav1.Condition{Type: kind, Reason: text("reason"), Message: text("message")}
		}
	}
	return nil
}

// Text returns a text of an object, or nothing.
func Text(object *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(object.Object, path...)
	return text
}

// Suspended reports whether the specification of an object keeps its operator from creating pods.
func Suspended(object *unstructured.Unstructured, path ...string) bool {
	suspended, _, _ := unstructured.NestedBool(object.Object, append([]string{"spec"}, path...)...)
	return suspended
}
