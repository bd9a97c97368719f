{{- define "guildhall.labels" -}}
app.kubernetes.io/name: guildhall
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Labels that select a component's pods. Call with (dict "component" "gateway"). */}}
{{- define "guildhall.selector" -}}
app.kubernetes.io/name: guildhall
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "guildhall.account" -}}
system:serviceaccount:{{ .root.Release.Namespace }}:guildhall-{{ .component }}
{{- end }}

{{- /* Cluster-scoped names carry the control namespace, so that two releases can share a cluster. */}}
{{- define "guildhall.clusterName" -}}
guildhall-{{ .name }}.{{ .root.Release.Namespace }}
{{- end }}

{{- define "guildhall.checkNamespaces" -}}
{{- if has .Release.Namespace .Values.runNamespaces }}
{{- fail (printf "runNamespaces contains %q, the namespace of this release: runs must live apart from the control plane; install into another namespace or take it off the list" .Release.Namespace) }}
{{- end }}
{{- end }}

{{- define "guildhall.podSecurity" -}}
runAsNonRoot: true
runAsUser: 12345
runAsGroup: 12345
fsGroup: 12345
fsGroupChangePolicy: OnRootMismatch
supplementalGroupsPolicy: Strict
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "guildhall.containerSecurity" -}}
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Liveness, readiness and start probes on a named port. */}}
{{- define "guildhall.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{- define "guildhall.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The password of a database URL, for libpq and asyncpg alike. Call with the component's database values. */}}
{{- define "guildhall.databaseEnv" -}}
{{- with .passwordSecret }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef: {name: {{ .name }}, key: {{ .key }}}
{{- end }}
{{- end }}
