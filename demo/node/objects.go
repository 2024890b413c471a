package node

import (
	"context"
	"fmt"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
)

// objects reads what pods refer to from the API.
type objects struct{ client kubernetes.Interface }

var (
	_ podenv.Source    = objects{}
	_ podvolume.Tokens = objects{}
)

// ConfigMap implements podenv.Source.
func (o objects) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	object, err := o.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	return object, missing(err, "ConfigMap", namespace, name)
}

// Secret implements podenv.Source.
func (o objects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	object, err := o.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	return object, missing(err, "Secret", namespace, name)
}

// secret reads a Secret, with the errors of the API server.
func (n *Node) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return n.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Token implements podvolume.Tokens.
func (o objects) Token(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, error) {
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	account := pod.Spec.ServiceAccountName
	answer, err := o.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", missing(fmt.Errorf("get a token: %w", err), "ServiceAccount", pod.Namespace, account)
	}
	return answer.Status.Token, nil
}

func missing(err error, kind, namespace, name string) error {
	if apierrors.IsNotFound(err) {
		return &podenv.MissingError{Kind: kind, Namespace: namespace, Name: name}
	}
	return err
}
