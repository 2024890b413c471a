package failure

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// OfCreate classifies the API server's refusal to create a pod. Nil means that the same request may go better later,
// which costs nobody an attempt.
func OfCreate(err error) *Failure {
	switch {
	case IsQuota(err):
		return nil
	case apierrors.IsForbidden(err):
		return New(PodForbidden, err.Error())
	case apierrors.IsRequestEntityTooLargeError(err), strings.Contains(err.Error(), "request is too large"):
		return New(PodTooLarge, err.Error())
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return New(PodRefused, err.Error())
	}
	return nil
}

// IsQuota says that a namespace's quota is used up: the pod has to wait for others to end.
func IsQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}
