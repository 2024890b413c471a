package attemptobject

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

func TestRefusalsOfTheAPIServer(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tc := range []struct {
		name   string
		reason failure.Reason
		words  string // part of the message
		got    *failure.Failure
	}{
		{"invalid pod", failure.ObjectRefused, "invalid", refusal(apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil))},
		{"webhook", failure.ObjectRefused, "denied", refusal(apierrors.NewBadRequest("admission webhook denied the request"))},
		{"too large", failure.ObjectTooLarge, "too large", refusal(apierrors.NewRequestEntityTooLargeError("limit is 3145728"))},
		{"forbidden", failure.ObjectForbidden, "forbids", refusal(apierrors.NewForbidden(pods, "p", errors.New("violates PodSecurity")))},
		{"quota", "", "", refusal(apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: q")))},
		{"its kind is being deleted", "", "", refusal(apierrors.NewForbidden(
			schema.GroupResource{Resource: "jobsets"}, "j", errors.New("create not allowed while custom resource definition is terminating")))},
		{"API server is down", "", "", refusal(apierrors.NewInternalError(errors.New("etcd")))},
		{"connection refused", "", "", refusal(errors.New("connect: connection refused"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.reason == "" {
				require.Nil(t, tc.got, "it is retried")
				return
			}
			require.Equal(t, tc.reason, tc.got.Reason)
			require.Equal(t, failure.User, tc.got.Class)
			require.Contains(t, tc.got.Message, tc.words)
		})
	}
}
