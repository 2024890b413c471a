package operated

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// freshStore is the variable with which the elastic agents of PyTorch open a new store each time they start their processes again.
// The store that they share otherwise still has the ports of the processes before, and no restart succeeds: seen with torch 2.15
// and the backend gloo.
const freshStore = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"

// RestartTorch lets the elastic agent of PyTorch in a container start its processes again. A variable that the task sets stays.
func RestartTorch(own *corev1.Container) {
	if !slices.ContainsFunc(own.Env, func(one corev1.EnvVar) bool { return one.Name == freshStore }) {
		Set(own, corev1.EnvVar{Name: freshStore, Value: "1"})
	}
}
