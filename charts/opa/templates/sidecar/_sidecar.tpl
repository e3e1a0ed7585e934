{{- /*
A chart with an application adds Envoy and OPA to its pods in this way. It has
this chart as the dependency opa, and in its values:

  opa: {server: {enabled: false}, sidecar: {enabled: true, image: {repository: registry.example.com/opa-envoy, tag: "1.0"}}}

In its Deployment, whose application listens on 127.0.0.1:8080:

  template:
    metadata:
      labels: {opa-diagnostics: "true"}
      annotations: {checksum/opa: {{ include "opa.sidecar.checksum" .Subcharts.opa }}}
    spec:
      initContainers: {{- include "opa.sidecar.containers" .Subcharts.opa | nindent 8 }}
      volumes: {{- include "opa.sidecar.volumes" .Subcharts.opa | nindent 8 }}
      containers:
        - name: app
          lifecycle: {preStop: {sleep: {seconds: 5}}} # wait until no Service sends requests here
*/}}

{{- /* Sidecars start in this order before the application, and stop after it in the reverse order. */}}
{{- define "opa.sidecar.containers" -}}
- name: opa
  {{- include "opa.image" (list . .Values.sidecar.image) | nindent 2 }}
  restartPolicy: Always
  args:
    - run
    - --server
    - --addr=127.0.0.1:8181
    - --diagnostic-addr=:8282
    - --config-file=/config/config.yaml
    - --skip-version-check
    - --ignore=.* # a mounted ConfigMap has its files twice, once in a hidden folder
    - /policy
  ports:
    - {name: diagnostics, containerPort: 8282}
  {{- include "opa.probes" . | nindent 2 }}
  {{- include "opa.memory" . | nindent 2 }}
  resources: {{- toYaml .Values.sidecar.resources | nindent 4 }}
  {{- include "opa.securityContext" . | nindent 2 }}
  volumeMounts:
    - {name: opa-config, mountPath: /config, readOnly: true}
    - {name: opa-policy, mountPath: /policy, readOnly: true}
    - {name: tmp, mountPath: /tmp}
- name: envoy
  {{- include "opa.image" (list . .Values.sidecar.envoyImage) | nindent 2 }}
  restartPolicy: Always
  args: [--config-path, /etc/envoy/envoy.yaml, --disable-hot-restart]
  ports:
    - {name: http, containerPort: 8000}
  startupProbe:
    tcpSocket: {port: http}
    periodSeconds: 1
  resources: {{- toYaml .Values.sidecar.resources | nindent 4 }}
  {{- include "opa.securityContext" . | nindent 2 }}
  volumeMounts:
    - {name: envoy-config, mountPath: /etc/envoy, readOnly: true}
{{- end }}

{{- define "opa.sidecar.volumes" -}}
- name: opa-config
  configMap: {name: {{ .Release.Name }}-sidecar-config}
- name: opa-policy
  configMap: {name: {{ .Release.Name }}-sidecar-policy}
- name: envoy-config
  configMap: {name: {{ .Release.Name }}-sidecar-envoy}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- end }}

{{- define "opa.sidecar.config" -}}
config.yaml: |
  {{- toYaml .Values.sidecar.config | nindent 2 }}
{{- end }}

{{- define "opa.sidecar.checksum" -}}
{{ list (include "opa.sidecar.config" .) .Values.sidecar.policies (.Files.Get "files/envoy.yaml") | toJson | sha256sum }}
{{- end }}
