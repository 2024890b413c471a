package attemptsecret

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Holder is whose pods get secrets: an attempt of a task, or a revision of an app.
type Holder struct {
	// Project and Domain are those of its secrets.
	Project, Domain string
	// Namespace is that of its pods.
	Namespace string
	// Name begins the names of its Kubernetes Secrets.
	Name string
	// Role tells pods of one holder apart that have images, and so registries, of their own; empty for the only ones.
	Role string
	// Asked are the secrets that it asks for.
	Asked []*core.Secret
	// Token asks for the token by which its processes call the server; nil for none.
	Token *enginev1.IssueTaskTokenRequest
	// Worker is the id of the worker whose pods they are, which needs no token; empty for any other holder.
	Worker string
	// Owner is the object whose deletion deletes them; nil where the caller deletes them.
	Owner *metav1.OwnerReference
	// Before is called before a Secret is written, so that one without owner is known to exist; nil means nothing.
	Before func(ctx context.Context) error
	// Labels tell the Secrets of a holder without owner from those of others. The labels of its pods have them.
	Labels map[string]string
}

// Name is the name of the Kubernetes Secret for the pods of an attempt, or for those of one of its roles.
func Name(attempt *plugin.Attempt, role string) string { return holderOf(attempt, role).SecretName() }

// SecretName is the name of the Kubernetes Secret with the values that were asked for.
func (h *Holder) SecretName() string { return h.prefix() + "-secrets" }

// prefix begins the names of the Secrets of the role. A Secret is immutable: two roles must not share one.
func (h *Holder) prefix() string {
	if h.Role == "" {
		return h.Name
	}
	return h.Name + "-" + h.Role
}

// HolderOf is the holder of an attempt's secrets.
func HolderOf(attempt *plugin.Attempt) *Holder { return holderOf(attempt, "") }

func holderOf(attempt *plugin.Attempt, role string) *Holder {
	return &Holder{
		Project: attempt.Task.Spec.Project, Domain: attempt.Task.Spec.Domain, Namespace: attempt.Task.Namespace,
		Name: v1.PodName(attempt.Task.Name, attempt.Number), Role: role, Asked: attempt.Template.GetSecurityContext().GetSecrets(),
		Token: tokenOf(attempt), Owner: metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind)),
	}
}

// proto is the holder in the request for its secrets.
func (h *Holder) proto() *enginev1.SecretHolder {
	switch {
	case h.Worker != "":
		return &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_Worker{Worker: h.Worker}}
	case h.Token.GetApp() != nil:
		return &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_App{App: h.Token.GetApp()}}
	case h.Token.GetAttempt() != nil:
		return &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_Attempt{Attempt: h.Token.GetAttempt()}}
	}
	return nil
}

func (h *Holder) owners() []metav1.OwnerReference {
	if h.Owner == nil {
		return nil
	}
	return []metav1.OwnerReference{*h.Owner}
}

// owns reports whether an existing Secret was written for this very holder.
func (h *Holder) owns(existing *corev1.Secret) bool {
	if h.Owner == nil {
		for name, value := range h.Labels {
			if existing.Labels[name] != value {
				return false
			}
		}
		return len(existing.OwnerReferences) == 0
	}
	for _, owner := range existing.OwnerReferences {
		if owner.UID == h.Owner.UID {
			return true
		}
	}
	return false
}
