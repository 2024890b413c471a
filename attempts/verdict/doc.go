// Package verdict judges attempts whose process has ended: whether the task succeeded, by what it wrote, and whether another
// attempt follows. The reconciler of TaskActions and the workers service share it, so that a task fails and is retried alike
// wherever it runs. It builds on attempts/failure and knows no Kubernetes types.
package verdict
