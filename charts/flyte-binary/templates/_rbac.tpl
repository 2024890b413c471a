{{/*
The rights of the server: exactly what it asks the API server for, which a test compares (charts/rbac_test.go). Rights on
kinds that only a plugin or a kind of route uses follow the configuration.
*/}}
{{- define "flyte-binary.ownRules" -}}
# The Lease by which replicas divide the work.
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [""], resources: [podtemplates], verbs: [get]}
{{- if include "flyte-binary.serves" . }}
# The values of SecretService, with the backend kubernetes.
- {apiGroups: [""], resources: [secrets], verbs: [get, list, create, patch, delete]}
{{- end }}
{{- end }}

{{- define "flyte-binary.taskRules" -}}
- {apiGroups: [flyte.org], resources: [taskactions], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [flyte.org], resources: [taskactions/status], verbs: [patch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [""], resources: [pods/log], verbs: [get]}
- {apiGroups: [""], resources: [podtemplates], verbs: [get]}
{{- if dig "executor" "events" true .Values.config }}
# What the cluster says about the pods of tasks.
- {apiGroups: [""], resources: [events], verbs: [list, watch]}
{{- end }}
# What tasks use.
- {apiGroups: [metrics.k8s.io], resources: [pods], verbs: [list]}
# The secrets of attempts and of apps; the server never lists or reads others.
- {apiGroups: [""], resources: [secrets], verbs: [get, create, delete, deletecollection]}
# Apps.
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [""], resources: [services], verbs: [get, list, watch, create, patch, delete]}
{{- if has "job" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "dask" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [kubernetes.dask.org], resources: [daskjobs], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "jobset" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [jobset.x-k8s.io], resources: [jobsets], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "mpi" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [kubeflow.org], resources: [mpijobs], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "pytorch" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [kubeflow.org], resources: [pytorchjobs], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "ray" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [ray.io], resources: [rayjobs], verbs: [get, list, watch, create, patch, delete]}
# The clusters that the attempts of an environment share.
- {apiGroups: [ray.io], resources: [rayclusters], verbs: [get, list, create, patch, delete]}
{{- end }}
{{- if has "spark" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [sparkoperator.k8s.io], resources: [sparkapplications], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "tensorflow" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [kubeflow.org], resources: [tfjobs], verbs: [get, list, watch, create, patch, delete]}
{{- end }}
{{- if has "trainjob" (dig "executor" "plugins" "enabled" (list "pod") .Values.config) }}
- {apiGroups: [trainer.kubeflow.org], resources: [trainjobs], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [trainer.kubeflow.org], resources: [trainingruntimes], verbs: [get, create, delete]}
{{- end }}
{{- if or (dig "executor" "plugins" "queues" "" .Values.config) (dig "executor" "plugins" "operators" "queue" "" .Values.config) (dig "executor" "plugins" "job" "queue" "" .Values.config) }}
# Why Kueue has not admitted an object yet.
- {apiGroups: [kueue.x-k8s.io], resources: [workloads], verbs: [list]}
{{- end }}
{{- $route := dig "deployer" "route" "kind" "none" .Values.config }}
{{- if eq $route "ingress" }}
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, create, update, delete]}
{{- else if eq $route "gateway" }}
- {apiGroups: [gateway.networking.k8s.io], resources: [httproutes], verbs: [get, create, update, delete]}
{{- end }}
{{- end }}
