package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// partCluster is the Kubernetes API server.
const partCluster = "API server"

// Kubeconfig explains an error of reading kubernetes.kubeconfig, or the service account of the pod.
func Kubeconfig(path string, err error) *Failure {
	f := &Failure{Part: partCluster, Tried: "read the kubeconfig file " + path, Cause: oneLine(err), Err: err, Fix: "correct kubernetes.kubeconfig, and let this account read the file"}
	var missing *fs.PathError
	switch {
	case path == "":
		f.Tried, f.Cause = "connect with the service account of the pod", "this process does not run in a pod, or the pod has no service account"
		f.Fix = "set kubernetes.kubeconfig to a kubeconfig file; on a laptop, `flyte-binary demo` needs no cluster"
	case errors.As(err, &missing):
		f.Cause = missing.Err.Error()
	}
	return f
}

// Cluster explains an error of a call to the API server. verb is what the call wanted, such as "get
// customresourcedefinitions".
func Cluster(host, verb string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	const start = "check kubernetes.kubeconfig, and that the API server runs and is reachable from here"
	f := &Failure{Part: partCluster, Tried: fmt.Sprintf("%s at %s", verb, host), Cause: oneLine(err), Fix: start, Err: err}
	switch {
	case apierrors.IsUnauthorized(err):
		f.Cause, f.Fix = "the API server does not accept the credentials", "renew the credentials of kubernetes.kubeconfig, or the token of the service account"
	case apierrors.IsForbidden(err):
		f.Fix = "allow this account to " + verb
	case meta.IsNoMatchError(err):
		f.Fix = "install the definition that the message names"
	default:
		if cause, fix, ok := network(err, start); ok {
			f.Cause, f.Fix = cause, fix
		}
	}
	return f
}

// NoDefinition says that the API server does not know TaskActions, which executor.installCrd leaves to someone else.
func NoDefinition(host, resource string) *Failure {
	return &Failure{
		Part: partCluster, Tried: fmt.Sprintf("look up %s at %s", resource, host), Cause: "the definition is not installed, so no task can start",
		Fix: DefinitionFix(false),
	}
}

// DefinitionFix is what to do about a TaskAction definition that is missing or of another version.
func DefinitionFix(installs bool) string {
	if installs {
		return "start the server: it installs the definition, since executor.installCrd is on"
	}
	return "apply executor/api/v1/crds/flyte.org_taskactions.yaml, or set executor.installCrd"
}
