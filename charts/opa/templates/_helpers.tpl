{{- /* The labels of an object. */}}
{{- define "opa.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* An image and its pull policy. The argument is a list: the context, and the image's values. */}}
{{- define "opa.image" -}}
{{- $context := index . 0 }}{{ $image := index . 1 -}}
image: {{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $context.Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{- /* The fields of a pod that all Deployments have. The argument is a list: the context, and the pods' name. */}}
{{- define "opa.pod" -}}
{{- $context := index . 0 }}{{ $name := index . 1 -}}
automountServiceAccountToken: false
enableServiceLinks: false # otherwise the Service opa would set variables OPA_…
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    matchLabelKeys: [pod-template-hash]
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app.kubernetes.io/name: {{ $name }}}}
  {{- end }}
{{- with $context.Values.pod }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "opa.securityContext" -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
{{- end }}

{{- /* Variables that keep Go's memory below the limit: MiB, used as MB, are 95 % of it. */}}
{{- define "opa.memory" -}}
env:
  - name: MEMORY_LIMIT
    valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}
  - {name: GOMEMLIMIT, value: $(MEMORY_LIMIT)000000}
{{- end }}

{{- /* A pod without policies gets no requests. Kubernetes restarts it after an hour, unless it has had policies before. */}}
{{- define "opa.probes" -}}
startupProbe:
  httpGet: {path: "/health?plugins&bundles", port: diagnostics}
  periodSeconds: 2
  failureThreshold: 1800
readinessProbe:
  httpGet: {path: "/health?plugins&bundles", port: diagnostics}
  periodSeconds: 5
livenessProbe:
  httpGet: {path: /health, port: diagnostics}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{- /* Files of a ConfigMap, which remain readable. The argument is their texts by name. */}}
{{- define "opa.files" -}}
{{- range $name, $text := . }}
{{ $name }}: |2
  {{- $text | nindent 2 }}
{{- end }}
{{- end }}

{{- define "opa.server.config" -}}
config.yaml: |
  {{- toYaml .Values.server.config | nindent 2 }}
{{- end }}

{{- /* The files of policies: those of the values, and system.rego for the decisions. */}}
{{- define "opa.server.policies" -}}
{{- $decisions := list }}
{{- range .Values.server.decisions }}{{ $decisions = append $decisions (printf "[\"%s\"]" (replace "/" "\", \"" .)) }}{{ end }}
{{- $system := .Files.Get "files/system.rego" | replace "{[\"authz\", \"allow\"]}" (printf "{%s}" (join ", " $decisions)) }}
{{- include "opa.files" (merge (dict) (.Values.server.policies | default dict) (dict "system.rego" $system)) }}
{{- end }}

{{- /* Text if the release has an object of the Prometheus operator. The argument is a list: the context, and true, false or auto. */}}
{{- define "opa.operated" -}}
{{- $value := index . 1 }}
{{- if eq (toString $value) "auto" }}{{ $value = (index . 0).Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}{{ end }}
{{- if $value }}true{{ end }}
{{- end }}

{{- /* The PodDisruptionBudget of a Deployment. The argument is a list: the context, and the pods' name. */}}
{{- define "opa.disruption" -}}
# Draining evicts one pod at a time. A pod that is not ready does not delay it.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index . 1 }}
  labels: {{- include "opa.labels" (index . 0) | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {app.kubernetes.io/name: {{ index . 1 }}}
{{- end }}
