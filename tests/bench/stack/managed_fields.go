package stack

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// labelDropped marks bare pods without managed fields.
const labelDropped = "bench/drop-managed-fields"

// dropped are the labels of pods without managed fields, by the name of their policy.
var dropped = map[string]map[string]string{"of-the-server": {v1.LabelManaged: v1.ManagedValue}, "bare": {labelDropped: "true"}}

// DropManagedFields has the server's pods, and those with labelDropped, created without managed fields, with the policy of the chart.
func (s *Stack) DropManagedFields(ctx context.Context) error {
	for name, labels := range dropped {
		if err := s.dropManagedFields(ctx, name, labels); err != nil {
			return fmt.Errorf("drop the managed fields of pods with %v: %w", labels, err)
		}
	}
	return s.awaitDropped(ctx)
}

func (s *Stack) dropManagedFields(ctx context.Context, name string, labels map[string]string) error {
	ignore := admissionv1.Ignore
	policies := s.Cluster.Client.AdmissionregistrationV1()
	_, err := policies.MutatingAdmissionPolicies().Create(ctx, &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy: &ignore, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				ObjectSelector: &metav1.LabelSelector{MatchLabels: labels},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "not-applied",
				Expression: `!has(object.metadata.managedFields) || !object.metadata.managedFields.exists(f, f.operation == "Apply")`,
			}},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "remove", path: "/metadata/managedFields"}]`},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = policies.MutatingAdmissionPolicyBindings().Create(ctx, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{})
	return err
}

// awaitDropped waits until the API server applies the policies.
func (s *Stack) awaitDropped(ctx context.Context) error {
	pods := s.Cluster.Client.CoreV1().Pods(metav1.NamespaceDefault)
	for _, labels := range dropped {
		for has := true; has; {
			made, err := pods.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "tried-", Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
			}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				return err
			}
			if has = len(made.ManagedFields) > 0; !has {
				continue
			}
			if err := Pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}
