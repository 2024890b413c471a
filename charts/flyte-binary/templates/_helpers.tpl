{{/* Names and labels. */}}
{{- define "flyte-binary.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "flyte-binary.fullname" -}}
{{- $name := include "flyte-binary.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "flyte-binary.selector" -}}
app.kubernetes.io/name: {{ include "flyte-binary.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "flyte-binary.commonLabels" -}}
app.kubernetes.io/name: {{ include "flyte-binary.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "flyte-binary.labels" -}}
{{ include "flyte-binary.commonLabels" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "flyte-binary.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "flyte-binary.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "flyte-binary.image" -}}
{{- $image := .Values.image }}
{{- $name := $image.repository }}
{{- if $image.registry }}{{ $name = printf "%s/%s" $image.registry $image.repository }}{{ end }}
{{- if $image.digest }}{{ printf "%s@%s" $name $image.digest }}{{ else }}{{ printf "%s:%s" $name (default .Chart.AppVersion $image.tag) }}{{ end }}
{{- end }}

{{/* The part with a cluster and the part with a database; empty means no. */}}
{{- define "flyte-binary.mode" -}}{{ default .Values.target .Values.mode }}{{- end }}
{{- define "flyte-binary.controls" -}}{{ if ne (include "flyte-binary.mode" .) "api" }}yes{{ end }}{{- end }}
{{- define "flyte-binary.serves" -}}{{ if ne (include "flyte-binary.mode" .) "controller" }}yes{{ end }}{{- end }}

{{/* Others of the installation call this release: clients, or an API that reads logs with the internal token. */}}
{{- define "flyte-binary.called" -}}{{ if or (include "flyte-binary.serves" .) .Values.auth.existingSecret }}yes{{ end }}{{- end }}

{{/* Prometheus' operator is there and finds this release. */}}
{{- define "flyte-binary.monitored" -}}
{{- if and .Values.monitoring.serviceMonitor.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor") }}yes{{ end }}
{{- end }}

{{/* Callers must say who they are; empty means no. */}}
{{- define "flyte-binary.accessControl" -}}
{{- $access := dig "access" (dict) .Values.config }}
{{- if and (include "flyte-binary.serves" .) (or .Values.proxy.caSecret (dig "issuers" (list) $access) (dig "local" "enabled" false $access) (dig "proxy" (dict) $access)) }}yes{{ end }}
{{- end }}

{{- define "flyte-binary.address" -}}
{{ include "flyte-binary.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end }}

{{/* The labels of each object that a trial adds. The argument is a dict with root and component. */}}
{{- define "flyte-binary.trialSelector" -}}
app.kubernetes.io/name: {{ include "flyte-binary.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The security context of a container under the restricted profile. */}}
{{- define "flyte-binary.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
