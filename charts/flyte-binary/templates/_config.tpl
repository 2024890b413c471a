{{/*
The configuration of the server, as YAML: what the chart knows, with .Values.config on top. Secrets are not in it; the
Deployment hands them over in the environment or as files.
*/}}
{{- define "flyte-binary.config" -}}
{{- $v := .Values }}
{{- $name := include "flyte-binary.fullname" . }}
{{- $hosts := list }}
{{- $public := "" }}
{{- if $v.ingress.enabled }}
{{- $hosts = append $hosts $v.ingress.host }}
{{- $public = printf "%s://%s" (ternary "https" "http" (ne $v.ingress.tlsSecret "")) $v.ingress.host }}
{{- end }}
{{- if $v.httpRoute.enabled }}
{{- range $v.httpRoute.hostnames }}{{ $hosts = append $hosts . }}{{ end }}
{{- if not $public }}{{ $public = printf "https://%s" (first $v.httpRoute.hostnames) }}{{ end }}
{{- end }}
{{- $server := dict "listen" "0.0.0.0:8090" }}
{{- if $hosts }}{{ $_ := set $server "allowedHosts" $hosts }}{{ end }}
{{- if $v.tls.existingSecret }}{{ $_ := set $server "tls" (dict "certFile" "/etc/flyte-secrets/tls/tls.crt" "keyFile" "/etc/flyte-secrets/tls/tls.key") }}{{ end }}
{{- $mode := include "flyte-binary.mode" . }}
{{- $c := dict "target" $mode "server" $server "logging" (dict "format" "json") }}
{{- $storage := dict "url" $v.storage.url }}
{{- $s3 := dict }}
{{- range $key, $value := $v.storage.s3 }}{{ if $value }}{{ $_ := set $s3 $key $value }}{{ end }}{{ end }}
{{- if $v.trial }}
{{- $_ := set $storage "url" "s3://flyte" }}
{{- $s3 = dict "endpoint" (printf "http://%s-store.%s.svc:7070" $name .Release.Namespace) "publicEndpoint" $v.trialParts.store.publicEndpoint "region" "us-east-1" }}
{{- end }}
{{- if $s3 }}{{ $_ := set $storage "s3" $s3 }}{{ end }}
{{- $_ := set $c "storage" $storage }}
{{- $replicas := dict "several" true "namespace" .Release.Namespace "lease" (dict "name" $name) }}
{{- if $v.installation }}{{ $_ := set $replicas "installation" $v.installation }}{{ end }}
{{- $_ := set $c "replicas" $replicas }}
{{- if include "flyte-binary.serves" . }}
{{- if $public }}
{{- $_ := set $c "runs" (dict "webhooks" (dict "publicURL" $public)) }}
{{- $_ := set $storage "publicURL" $public }}
{{- end }}
{{- $_ := set $c "database" (include "flyte-binary.database" . | fromYaml) }}
{{- /* A trial is open to everybody who reaches it, unless its values say otherwise. */}}
{{- if and $v.trial (not (dig "access" (dict) $v.config)) (not $v.proxy.caSecret) }}{{ $_ := set $c "access" (dict "open" true) }}{{ end }}
{{- if $v.proxy.caSecret }}{{ $_ := set $c "access" (dict "proxy" (dict "clientCAFile" "/etc/flyte-secrets/proxy/ca.crt" "clientNames" $v.proxy.clientNames)) }}{{ end }}
{{- with $v.cluster.remotes }}{{ $_ := set $c "clusters" . }}{{ end }}
{{- else }}
{{- $controlPlane := dict "url" $v.controlPlane.url }}
{{- if $v.controlPlane.credentialSecret }}{{ $_ := set $controlPlane "credentialFile" "/etc/flyte-secrets/credential/credential" }}{{ end }}
{{- $_ := set $c "controlPlane" $controlPlane }}
{{- end }}
{{- if $v.auth.tls.existingSecret }}
{{- $_ := set $c "auth" (dict "tls" (dict "caFile" "/etc/flyte-secrets/internal/ca.crt" "certFile" "/etc/flyte-secrets/internal/tls.crt" "keyFile" "/etc/flyte-secrets/internal/tls.key")) }}
{{- end }}
{{- if include "flyte-binary.controls" . }}
{{- $_ := set $c "cluster" (dict "id" $v.cluster.id) }}
{{- $pod := dict "podTemplateNamespace" .Release.Namespace "copilot" (dict "image" (include "flyte-binary.image" .)) }}
{{- if $v.tasks.endpoint }}
{{- $_ := set $pod "endpoint" $v.tasks.endpoint }}
{{- $_ := set $pod "insecure" $v.tasks.insecure }}
{{- else if include "flyte-binary.serves" . }}
{{- $_ := set $pod "endpoint" (include "flyte-binary.address" .) }}
{{- $_ := set $pod "insecure" (eq $v.tls.existingSecret "") }}
{{- end }}
{{- if $v.trial }}
{{- /* So that a parent and its children fit on a small node. */}}
{{- $_ := set $pod "defaultCpu" "100m" }}
{{- $_ := set $pod "defaultCpuLimit" "2" }}
{{- $_ := set $pod "defaultMemory" "512Mi" }}
{{- end }}
{{- $executor := dict "installCrd" false "pod" $pod }}
{{- if $v.tasks.namespaces }}
{{- $_ := set $executor "namespaces" $v.tasks.namespaces }}
{{- $task := dict "createNamespaces" false }}
{{- if eq (len $v.tasks.namespaces) 1 }}{{ $_ := set $task "namespace" (first $v.tasks.namespaces) }}{{ end }}
{{- $_ := set $c "actions" (dict "taskActions" $task) }}
{{- end }}
{{- $_ := set $c "executor" $executor }}
{{- $_ := set $c "secrets" (dict "kubernetes" (dict "namespace" .Release.Namespace)) }}
{{- end }}
{{- mergeOverwrite $c (deepCopy $v.config) | toYaml }}
{{- end }}

{{- define "flyte-binary.database" -}}
{{- if .Values.trial }}
url: postgres://flyte@{{ include "flyte-binary.fullname" . }}-postgres.{{ .Release.Namespace }}.svc:5432/flyte
passwordFile: /etc/flyte-secrets/database/password
{{- else if not .Values.database.urlKey }}
url: {{ .Values.database.url }}
{{- if .Values.database.existingSecret }}
passwordFile: /etc/flyte-secrets/database/password
{{- end }}
{{- else }}
{}
{{- end }}
{{- end }}

{{/* Values that contradict each other, in words that say what to set. */}}
{{- define "flyte-binary.check" -}}
{{- $v := .Values }}
{{- $mode := include "flyte-binary.mode" . }}
{{- if not $v.trial }}
{{- if and (include "flyte-binary.serves" .) (not $v.database.url) (not $v.database.urlKey) }}
{{- fail "database.url is required: postgres://USER@HOST:5432/NAME, with the password in database.existingSecret. To try it with a database of its own: --set trial=true" }}
{{- end }}
{{- if and $v.database.urlKey (not $v.database.existingSecret) }}
{{- fail "database.urlKey is an entry of a Secret: set database.existingSecret to its name" }}
{{- end }}
{{- if not $v.storage.url }}
{{- fail "storage.url is required: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX. To try it with a store of its own: --set trial=true" }}
{{- end }}
{{- else if ne $mode "all" }}
{{- fail (printf "trial: a trial runs everything in one release; mode %q does not" $mode) }}
{{- end }}
{{- if and (include "flyte-binary.serves" .) (not $v.trial) (not (dig "access" (dict) $v.config)) (not $v.proxy.caSecret) }}
{{- fail "config.access is required: who may use the installation. Name an identity provider in config.access.issuers, or enable local accounts in config.access.local. With config.access.open=true, everybody who reaches the port can read and change everything" }}
{{- end }}
{{- if eq $mode "controller" }}
{{- if or $v.ingress.enabled $v.httpRoute.enabled }}{{ fail "ingress.enabled and httpRoute.enabled are not possible with mode controller: a controller connects to controlPlane.url, and nothing connects to it" }}{{ end }}
{{- if $v.cluster.remotes }}{{ fail "cluster.remotes is not possible with mode controller: it belongs to the release of the API" }}{{ end }}
{{- if not $v.controlPlane.url }}{{ fail "controlPlane.url is required with mode controller: where this cluster reaches the API, as in https://flyte.example.com" }}{{ end }}
{{- if not $v.installation }}{{ fail "installation is required with mode controller: the id that flyte-binary clusters add prints" }}{{ end }}
{{- if not (or $v.controlPlane.credentialSecret $v.auth.existingSecret) }}{{ fail "controlPlane.credentialSecret is required with mode controller: the Secret with the credential that flyte-binary clusters add prints" }}{{ end }}
{{- end }}
{{- if and (eq $mode "api") (has "kubernetes" (dig "secrets" "backends" (list "kubernetes") $v.config)) }}
{{- fail "config.secrets.backends: an API without a cluster cannot store secrets in Kubernetes; name vault, aws, gcp or azure" }}
{{- end }}
{{- if and $v.cluster.remotes (not $v.auth.existingSecret) }}{{ fail "auth.existingSecret is required with cluster.remotes: the Secret with the token by which the logs of these clusters are read" }}{{ end }}
{{- if and $v.ingress.enabled (not $v.ingress.host) }}{{ fail "ingress.host is required with ingress.enabled" }}{{ end }}
{{- if and $v.httpRoute.enabled (or (not $v.httpRoute.hostnames) (not $v.httpRoute.parentRefs)) }}{{ fail "httpRoute.hostnames and httpRoute.parentRefs are required with httpRoute.enabled" }}{{ end }}
{{- if has .Release.Namespace $v.tasks.namespaces }}{{ fail (printf "tasks.namespaces: %s is the namespace of the server, whose secrets tasks must not reach; name another" .Release.Namespace) }}{{ end }}
{{- range dig "access" "issuers" (list) $v.config }}
{{- if .clientSecret }}{{ fail "config.access.issuers: a ConfigMap is not a place for a secret; mount a Secret with extraVolumes, and name a file of it in clientSecretFile" }}{{ end }}
{{- end }}
{{- range dig "access" "local" "accounts" (list) $v.config }}
{{- if .password }}{{ fail "config.access.local.accounts: a ConfigMap is not a place for a password; mount a Secret with extraVolumes, and name a file of it in passwordFile" }}{{ end }}
{{- end }}
{{- if and $v.auth.tls.existingSecret (not $v.auth.existingSecret) }}{{ fail "auth.existingSecret is required with auth.tls.existingSecret: a certificate alone opens nothing" }}{{ end }}
{{- if and $v.auth.tls.existingSecret (include "flyte-binary.serves" .) (ne $mode "all") (not $v.tls.existingSecret) }}{{ fail "tls.existingSecret is required with auth.tls.existingSecret: controllers present their certificate in a TLS connection" }}{{ end }}
{{- if and $v.proxy.caSecret (not $v.tls.existingSecret) }}{{ fail "tls.existingSecret is required with proxy.caSecret: the proxy presents its certificate in a TLS connection" }}{{ end }}
{{- if and $v.proxy.caSecret (not $v.proxy.clientNames) }}{{ fail "proxy.clientNames is required with proxy.caSecret: the names in the certificate of the proxy" }}{{ end }}
{{- $config := $v.config }}
{{- range $path := list "auth.internalToken" "controlPlane.credential" "storage.signingKey" "storage.s3.accessKeyID" "storage.s3.secretAccessKey" "runs.webhooks.signingKey" "notifications.email.password" "secrets.vault.auth.token" "secrets.vault.auth.secretID" "secrets.aws.secretAccessKey" "access.local.adminPassword" }}
{{- $found := $config }}
{{- range splitList "." $path }}{{ if kindIs "map" $found }}{{ $found = get $found . }}{{ else }}{{ $found = "" }}{{ end }}{{ end }}
{{- if $found }}{{ fail (printf "config.%s: a ConfigMap is not a place for a secret; put it into a Secret and name that in extraEnv as FLYTE_%s, or in the existingSecret of its section" $path ($path | replace "." "_" | upper)) }}{{ end }}
{{- end }}
{{- end }}
