package attemptsecret

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// maxTotal is how many bytes the secrets of one task have at most, together: that of a Kubernetes Secret, without the token.
const maxTotal = corev1.MaxSecretSize - 2<<10

// patience is how long the values of one attempt may take to come. A backend that is slower must not hold the others up;
// it is asked again.
const patience = 30 * time.Second

// Keeper writes the Kubernetes Secrets of attempts. It is safe for concurrent use.
type Keeper struct{ deps plugin.Deps }

// New returns a keeper.
func New(deps plugin.Deps) *Keeper { return &Keeper{deps: deps} }

// Prepare writes what the pods of an attempt refer to, or those of one of its roles; PrepareFor says how.
func (k *Keeper) Prepare(ctx context.Context, attempt *plugin.Attempt, role string, pod *corev1.PodTemplateSpec) error {
	return k.PrepareFor(ctx, holderOf(attempt, role), pod)
}

// PrepareFor writes what the pods of a holder refer to: the secrets that it asks for, the token by which it calls the server, those of its image pull
// secrets that SecretService has, whose references it replaces, and the credentials that its scopes have for the
// registries of its images. It may be called any number of times: what exists is not
// changed. A *failure.Failure means that the pods cannot start; any other error says nothing about them.
func (k *Keeper) PrepareFor(ctx context.Context, holder *Holder, pod *corev1.PodTemplateSpec) error {
	asked, err := wantedOf(holder.Asked)
	if err != nil {
		return err
	}
	found, config, err := k.read(ctx, holder, asked, &pod.Spec)
	if err != nil {
		return err
	}
	data, err := dataOf(asked, found)
	if err != nil {
		return err
	}
	token, err := k.token(ctx, holder)
	if err != nil {
		return err
	}
	if token != "" {
		data[tokenEntry] = []byte(token)
		present(&pod.Spec, holder.SecretName())
	}
	if len(data) > 0 {
		if err := k.ensure(ctx, holder, k.object(holder, pod, holder.SecretName(), corev1.SecretTypeOpaque, data)); err != nil {
			return err
		}
	}
	if err := k.preparePulls(ctx, holder, pod, found); err != nil {
		return err
	}
	return k.prepareRegistries(ctx, holder, pod, config)
}

// prepareRegistries writes the credentials for the registries of the pod's images, and makes the pod refer to them.
func (k *Keeper) prepareRegistries(ctx context.Context, holder *Holder, pod *corev1.PodTemplateSpec, config []byte) error {
	if len(config) == 0 {
		return nil
	}
	name := holder.prefix() + "-pull"
	data := map[string][]byte{corev1.DockerConfigJsonKey: config}
	if err := k.ensure(ctx, holder, k.object(holder, pod, name, corev1.SecretTypeDockerConfigJson, data)); err != nil {
		return err
	}
	pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	return nil
}

// imagesOf are the images of a pod, each once.
func imagesOf(spec *corev1.PodSpec) []string {
	var images []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if container.Image != "" && !slices.Contains(images, container.Image) {
			images = append(images, container.Image)
		}
	}
	return images
}

// pullsOf are the image pull secrets that SecretService may have.
func pullsOf(spec *corev1.PodSpec) []string {
	var names []string
	for _, reference := range spec.ImagePullSecrets {
		if ident.IsSecretName(reference.Name) && !slices.Contains(names, reference.Name) {
			names = append(names, reference.Name)
		}
	}
	return names
}

// read returns the values by name, and the credentials for the images as a Docker configuration. The secrets that the task
// asks for must all exist.
func (k *Keeper) read(
	ctx context.Context, holder *Holder, asked []Wanted, pod *corev1.PodSpec,
) (values map[string]*enginev1.SecretValue, config []byte, err error) {
	pulls := pullsOf(pod)
	request := &enginev1.GetSecretValuesRequest{
		Project: holder.Project, Domain: holder.Domain, Images: imagesOf(pod), Holder: holder.proto(),
	}
	if len(asked) == 0 && len(pulls) == 0 && len(request.GetImages()) == 0 {
		return nil, nil, nil
	}
	required := map[string]bool{}
	for _, one := range asked {
		if !required[one.Name] {
			required[one.Name] = true
			request.Names = append(request.Names, one.Name)
		}
	}
	for _, name := range pulls {
		if !required[name] {
			request.Names = append(request.Names, name)
		}
	}
	if k.deps.Secrets == nil {
		return nil, nil, refuse(required, "this executor has no connection to SecretService")
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := k.deps.Secrets.GetSecretValues(limited, request)
	switch connect.CodeOf(err) {
	case connect.CodeFailedPrecondition, connect.CodeUnimplemented:
		return nil, nil, refuse(required, err.Error())
	case connect.CodeInvalidArgument:
		if len(request.GetNames()) == 0 {
			return nil, nil, nil // a server from before images were sent
		}
		return nil, nil, failure.New(failure.SecretUnusable, "%v", err)
	default:
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the secrets of the task: %w", err)
	}
	var missing []string
	for _, name := range answer.GetMissing() {
		if required[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, nil, failure.New(failure.SecretMissing, "%s; searched were %s", strings.Join(missing, ", "), strings.Join(answer.GetSearched(), ", then "))
	}
	found := map[string]*enginev1.SecretValue{}
	for _, value := range answer.GetValues() {
		found[value.GetName()] = value
	}
	return found, answer.GetPullConfig(), nil
}

// refuse fails an attempt whose secrets cannot exist; without any, image pull secrets are left to the cluster.
func refuse(required map[string]bool, words string) error {
	if len(required) == 0 {
		return nil
	}
	return failure.New(failure.SecretMissing, "%s; %s", strings.Join(slices.Sorted(maps.Keys(required)), ", "), words)
}

// dataOf returns the entries of the attempt's Secret.
func dataOf(asked []Wanted, found map[string]*enginev1.SecretValue) (map[string][]byte, error) {
	data, total := map[string][]byte{}, 0
	for _, one := range asked {
		value := found[one.Name].GetValue()
		if one.File == "" && (!utf8.Valid(value) || bytes.IndexByte(value, 0) >= 0) {
			return nil, failure.New(failure.SecretUnusable, "secret %s has bytes that an environment variable cannot have; ask for it as a file, with mount=\"/etc/flyte/secrets\"", one.Name)
		}
		if _, known := data[one.Name]; !known {
			total += len(value)
		}
		data[one.Name] = value
	}
	if total > maxTotal {
		return nil, failure.New(failure.SecretUnusable, "the secrets of the task have %d bytes together, and %d is the most", total, maxTotal)
	}
	return data, nil
}

// preparePulls writes the image pull secrets that SecretService has, and makes the pod refer to them. The others name
// Secrets of the namespace, and stay.
func (k *Keeper) preparePulls(ctx context.Context, holder *Holder, pod *corev1.PodTemplateSpec, found map[string]*enginev1.SecretValue) error {
	for i := range pod.Spec.ImagePullSecrets {
		reference := &pod.Spec.ImagePullSecrets[i]
		value := found[reference.Name]
		if !value.GetImagePull() {
			continue
		}
		data := map[string][]byte{corev1.DockerConfigJsonKey: value.GetValue()}
		name := fmt.Sprintf("%s-pull-%d", holder.prefix(), i)
		if err := k.ensure(ctx, holder, k.object(holder, pod, name, corev1.SecretTypeDockerConfigJson, data)); err != nil {
			return err
		}
		reference.Name = name
	}
	return nil
}

func (k *Keeper) object(holder *Holder, pod *corev1.PodTemplateSpec, name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: holder.Namespace, Name: name, Labels: maps.Clone(pod.Labels), OwnerReferences: holder.owners(),
		},
		Immutable: &immutable, Type: kind, Data: data,
	}
}

// ensure creates a Secret once. One that a deleted holder of the same name left is deleted, and the next try creates
// it. Secrets are never read through a cache, which would keep the values of all of them.
func (k *Keeper) ensure(ctx context.Context, holder *Holder, object *corev1.Secret) error {
	if holder.Before != nil {
		if err := holder.Before(ctx); err != nil {
			return err
		}
	}
	key := client.ObjectKeyFromObject(object)
	err := k.deps.Writer.Create(ctx, object)
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Errorf("create Secret %s: the executor requires the right to create, get and delete Secrets in the namespace: %w", key.Name, err)
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create Secret %s: %w", key.Name, err)
	}
	existing := &corev1.Secret{}
	if err := k.deps.Live.Get(ctx, key, existing); err != nil {
		return fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	if holder.owns(existing) {
		return nil
	}
	if existing.Labels[v1.LabelManaged] == v1.ManagedValue {
		uid := existing.UID
		if err := k.deps.Writer.Delete(ctx, existing, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s of another holder: %w", key.Name, err)
		}
	}
	return fmt.Errorf("secret %s belongs to another TaskAction or app; waiting until it is gone", key.Name)
}
