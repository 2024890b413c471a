package attemptobject

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// refusal returns the failure behind an API server's refusal to create an object. Nil means that the same request may
// succeed later, which consumes no attempt.
func refusal(err error) *failure.Failure {
	switch {
	case isQuota(err), isLeaving(err):
		return nil
	case apierrors.IsForbidden(err):
		return failure.New(failure.ObjectForbidden, err.Error())
	case apierrors.IsRequestEntityTooLargeError(err), strings.Contains(err.Error(), "request is too large"):
		return failure.New(failure.ObjectTooLarge, err.Error())
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return failure.New(failure.ObjectRefused, err.Error())
	}
	return nil
}

// isQuota reports whether a namespace's quota is used up: the object has to wait for others to end.
func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// isLeaving reports whether the kind of the object is being deleted from the cluster: then the attempt waits until it is back.
func isLeaving(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "custom resource definition is terminating")
}
