package taskactions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// labelPodSecurity is the label by which the API server itself keeps pods to a level of the Pod Security Standards.
const labelPodSecurity = "pod-security.kubernetes.io/enforce"

// markAge is how long the mark of a namespace is trusted after it was read.
const markAge = time.Minute

// namespaces creates namespaces for tasks, and keeps tasks out of those that are not for them.
type namespaces struct {
	client      client.Client
	clock       clock.Clock
	create      bool   // those that do not exist
	podSecurity string // level of created ones; empty for none
	own         string // that of the server itself; empty for none

	mu    sync.Mutex
	ready map[string]time.Time // GUARDED_BY(mu): when a namespace was found to be for tasks
}

// place is where the object of an action goes.
type place struct {
	namespace string
	// labels that a namespace for this action has: the mark, its project and its domain.
	labels map[string]string
	// configured means that the operator named this very namespace. It needs no mark.
	configured bool
}

// namespaceError is that an action cannot have an object in its namespace.
type namespaceError struct {
	code string
	err  error
}

func (e *namespaceError) Error() string { return e.err.Error() }

func (e *namespaceError) Unwrap() error { return e.err }

func missing(name string, because error) error {
	return &namespaceError{codeNowhere, fmt.Errorf("namespace %s does not exist, and it is not created: %w; "+
		"the operator of this installation must create the namespace or allow its creation", name, because)}
}

func notOurs(format string, args ...any) error {
	return &namespaceError{codeNotOurs, fmt.Errorf(format, args...)}
}

var errNotCreated = errors.New("actions.taskActions.createNamespaces is off")

// ensure returns nil for a namespace that exists and is for the action, and creates it if required. A *namespaceError says
// why it is not.
func (n *namespaces) ensure(ctx context.Context, p place) error {
	if p.namespace == n.own && !p.configured {
		return notOurs("namespace %s is the server's own, where no task may run; the project needs another name", p.namespace)
	}
	n.mu.Lock()
	read, known := n.ready[p.namespace]
	n.mu.Unlock()
	if age := n.clock.Now().Sub(read); known && age >= 0 && age < markAge {
		return nil
	}
	err := n.look(ctx, p)
	if apierrors.IsNotFound(err) {
		if err = n.make(ctx, p); apierrors.IsAlreadyExists(err) {
			err = n.look(ctx, p) // somebody else was faster
		}
	}
	if err != nil {
		var refused *namespaceError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("ensure namespace %s: %w", p.namespace, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready[p.namespace] = n.clock.Now()
	return nil
}

// look checks a namespace that exists.
func (n *namespaces) look(ctx context.Context, p place) error {
	var found corev1.Namespace
	err := n.client.Get(ctx, client.ObjectKey{Name: p.namespace}, &found)
	switch {
	case p.configured && apierrors.IsForbidden(err):
		return nil // Without the right to read namespaces, work in this one may still be allowed.
	case apierrors.IsForbidden(err):
		return notOurs("no permission to read namespace %s, so whether it is for tasks cannot be checked; "+
			"the operator of this installation must allow the controller to get namespaces: %w", p.namespace, err)
	case err != nil || p.configured:
		return err
	case found.Labels[v1.LabelManaged] != v1.ManagedValue:
		return notOurs("namespace %s exists and is not marked as one for tasks; if it is, the operator of this installation must mark it: "+
			"kubectl label namespace %s %s=%s", p.namespace, p.namespace, v1.LabelManaged, v1.ManagedValue)
	}
	for _, label := range []string{v1.LabelProject, v1.LabelDomain} {
		if owner := found.Labels[label]; owner != "" && owner != p.labels[label] {
			return notOurs("namespace %s is for other tasks: its label %s is %q, not %q", p.namespace, label, owner, p.labels[label])
		}
	}
	return nil
}

// make creates a namespace.
func (n *namespaces) make(ctx context.Context, p place) error {
	if !n.create {
		return missing(p.namespace, errNotCreated)
	}
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace, Labels: p.labels}}
	if n.podSecurity != "" {
		created.Labels[labelPodSecurity] = n.podSecurity
	}
	err := n.client.Create(ctx, created)
	if apierrors.IsForbidden(err) {
		return missing(p.namespace, err)
	}
	return err
}

// forget makes ensure look again.
func (n *namespaces) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ready, name)
}
