package workerpods

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// The program is copied into a volume of the pod, from the image of flyte-binary.
const (
	programVolume = "flyte-worker"
	programDir    = "/var/flyte/worker"
	programName   = "flyte-binary"
	installer     = "flyte-worker-program"
	tokenKey      = "token"
)

func runOf(worker *enginev1.DesiredWorker) ident.Run {
	return ident.ActionOf(worker.GetLike().GetRef().GetId()).Run
}

// labels identify the objects of a worker.
func (s *Service) labels(worker *enginev1.DesiredWorker) map[string]string {
	run := runOf(worker)
	result := map[string]string{
		v1.LabelManaged: v1.ManagedValue, v1.LabelProject: v1.LabelValue(run.Project), v1.LabelDomain: v1.LabelValue(run.Domain), labelWorker: worker.GetId(),
	}
	if s.deps.Installation != "" {
		result[v1.LabelInstallation] = s.deps.Installation
	}
	return result
}

// create creates the pod of a worker. Its token is in a Secret, which owns everything else of the worker. The Secret
// comes first: it is the owner of the pod, so what was created until an error is deleted with it. A *failure.Failure in
// the error's chain means that the pod can never start.
func (t *term) create(ctx context.Context, worker *enginev1.DesiredWorker) error {
	attempt, namespace, err := t.attempt(worker)
	if err != nil {
		return err
	}
	place, err := t.deps.Namespace.Place(runOf(worker))
	if err != nil {
		return err
	}
	if err := t.places.Ensure(ctx, place); err != nil {
		return err
	}
	template, err := t.builder.Build(ctx, attempt)
	if err != nil {
		return err
	}
	owner, err := t.issue(ctx, worker, namespace)
	if err != nil {
		return err
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: owner.Name, UID: owner.UID}
	if err := t.become(template, worker, podspec.PrimaryName(attempt.Template)); err != nil {
		return err
	}
	run := runOf(worker)
	holder := &attemptsecret.Holder{
		Project: run.Project, Domain: run.Domain, Namespace: namespace, Name: v1.PodName(attempt.Task.Name, attempt.Number),
		Asked: attempt.Template.GetSecurityContext().GetSecrets(), Owner: &reference, Worker: worker.GetId(),
	}
	if t.deps.Secrets != nil {
		if err := t.secrets.PrepareFor(ctx, holder, template); err != nil {
			return err
		}
	}
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name, pod.OwnerReferences = namespace, name(worker.GetId()), []metav1.OwnerReference{reference}
	// A pod that exists is from an earlier pass whose answer was lost.
	if err := t.client.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return failure.New(failure.ObjectRefused, "%v", err)
		}
		return fmt.Errorf("create the pod of a worker: %w", err)
	}
	return nil
}

// issue makes a token and the Secret that has it.
func (t *term) issue(ctx context.Context, worker *enginev1.DesiredWorker, namespace string) (*corev1.Secret, error) {
	answer, err := t.deps.Fleet.IssueWorkerToken(ctx, &enginev1.IssueWorkerTokenRequest{Id: worker.GetId()})
	if err != nil {
		return nil, fmt.Errorf("get the token of a worker: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(worker.GetId()), Labels: t.labels(worker)},
		Data:       map[string][]byte{tokenKey: []byte(answer.GetToken())},
	}
	err = t.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) { // of a try that got no further; its token is void
		if err := t.client.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secret.Name}}); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("delete the old token of a worker: %w", err)
		}
		err = t.client.Create(ctx, secret)
	}
	if err != nil {
		return nil, fmt.Errorf("store the token of a worker: %w", err)
	}
	return secret, nil
}

// become replaces the command of the task by the worker.
func (s *Service) become(pod *corev1.PodTemplateSpec, worker *enginev1.DesiredWorker, primaryName string) error {
	var primary *corev1.Container
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == primaryName {
			primary = &pod.Spec.Containers[i]
		}
	}
	if primary == nil {
		return failure.New(failure.PrimaryContainerNotFound, "%s", primaryName)
	}
	program := s.config.Program
	if program == "" {
		if s.deps.Pod.Copilot.Image == "" {
			return failure.New(failure.BadTaskSpecification, "reusable environments require the image of flyte-binary; "+
				"the operator of this installation must set executor.pod.copilot.image")
		}
		program = programDir + "/" + programName
		s.install(pod, primary)
	}
	primary.Command, primary.Args = []string{program, "worker"}, nil
	// Each attempt brings its own. The worker must not have those of the pool's first action: it loads the SDK before any attempt.
	primary.Env = slices.DeleteFunc(primary.Env, func(variable corev1.EnvVar) bool { return attempts.Varies(variable.Name) })
	storage, _ := json.Marshal(s.deps.Pod.Copilot.Storage) // strings and booleans can always be encoded
	primary.Env = append(primary.Env,
		podspec.Variable("FLYTE_WORKER_ID", worker.GetId()),
		podspec.Variable("FLYTE_WORKER_ENDPOINT", endpoint(s.deps.Pod.Endpoint, s.deps.Pod.Insecure)),
		podspec.Variable("FLYTE_WORKER_CONCURRENCY", strconv.Itoa(int(worker.GetConcurrency()))),
		podspec.Variable("FLYTE_WORKER_STORAGE", string(storage)),
		corev1.EnvVar{Name: "FLYTE_WORKER_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name(worker.GetId())}, Key: tokenKey,
		}}},
	)
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		primary.Env = append(primary.Env, podspec.Variable("FLYTE_WORKER_GRACE", strconv.FormatInt(*grace, 10)+"s"))
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return nil
}

// install adds the init container that copies our program into the pod.
func (s *Service) install(pod *corev1.PodTemplateSpec, primary *corev1.Container) {
	no, yes := false, true
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes}
	if own := primary.SecurityContext; own != nil {
		security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot
		security.Capabilities, security.SeccompProfile = own.Capabilities, own.SeccompProfile
	}
	mount := corev1.VolumeMount{Name: programVolume, MountPath: programDir}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: programVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	pod.Spec.InitContainers = append([]corev1.Container{{
		Name: installer, Image: s.deps.Pod.Copilot.Image, Command: []string{programName}, Args: []string{"worker", "--install=" + programDir},
		ImagePullPolicy: corev1.PullPolicy(s.deps.Pod.ImagePullPolicy), VolumeMounts: []corev1.VolumeMount{mount}, SecurityContext: security,
		Resources: primary.Resources, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}, pod.Spec.InitContainers...)
	mount.ReadOnly = true
	primary.VolumeMounts = append(primary.VolumeMounts, mount)
}

// endpoint is the URL of this installation, whose address pods have in the form of the SDK.
func endpoint(address string, insecure bool) string {
	address = strings.TrimPrefix(address, "dns:///")
	if strings.Contains(address, "://") {
		return address
	}
	if insecure {
		return "http://" + address
	}
	return "https://" + address
}
