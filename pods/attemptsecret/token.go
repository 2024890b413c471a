package attemptsecret

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// tokenEntry is the entry of the Secret that has the token. No secret can have this name, which has a dot.
const tokenEntry = "flyte.task-token"

// tokenOf asks for the token of an attempt.
func tokenOf(attempt *plugin.Attempt) *enginev1.IssueTaskTokenRequest {
	spec := &attempt.Task.Spec
	id := ident.Action{Run: ident.Run{Project: spec.Project, Domain: spec.Domain, Name: spec.Run}, Name: spec.Action}
	return &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_Attempt{Attempt: &enginev1.AttemptRef{
		Action: &enginev1.ActionRef{Uid: spec.UID, Id: id.Proto()}, Attempt: uint32(attempt.Number), //nolint:gosec // from 1
	}}}
}

// token is the token of a holder; empty if it needs none.
func (k *Keeper) token(ctx context.Context, holder *Holder) (string, error) {
	if k.deps.Tokens == nil || holder.Token == nil {
		return "", nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := k.deps.Tokens.IssueTaskToken(limited, holder.Token)
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return "", nil // a server of the version before, which authenticates no one
	}
	if err != nil {
		return "", fmt.Errorf("get the token of the task: %w", err)
	}
	return answer.GetToken(), nil
}

// present makes the containers that know the server call it with the token in the Secret. The pod has no more than a reference to
// it: Kubernetes expands variables that were defined before.
func present(spec *corev1.PodSpec, secret string) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].Env = withToken(containers[i].Env, secret)
		}
	}
}

func withToken(env []corev1.EnvVar, secret string) []corev1.EnvVar {
	at := func(name string) *corev1.EnvVar {
		for i := range env {
			if env[i].Name == name {
				return &env[i]
			}
		}
		return &corev1.EnvVar{}
	}
	env = slices.DeleteFunc(env, func(variable corev1.EnvVar) bool { return variable.Name == attempts.TokenVariable })
	endpoint, apps := at(attempts.EndpointVariable), at(attempts.AppsVariable)
	if endpoint.Value == "" {
		return env
	}
	endpoint.Value, apps.Value = attempts.WithToken(endpoint.Value, apps.Value, at(attempts.InsecureVariable).Value != "", "$("+attempts.TokenVariable+")")
	return append([]corev1.EnvVar{{Name: attempts.TokenVariable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: tokenEntry,
	}}}}, env...)
}
