// Package podpolicy decides what a task may ask of its pod: an allow-list in configuration, on top of the baseline of
// Kubernetes' Pod Security Standards. It judges what the task declares and nothing that the operator adds.
// pods/podspec applies it to every pod that it builds, and before a run or a task is accepted. It imports no
// other package of this module.
package podpolicy
