{{- /* A policy's binding: deny, in run namespaces only. Call with (dict "name" "run-references" "root" $). */}}
{{- define "guildhall.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "guildhall.clusterName" . }}
  labels:
    {{- include "guildhall.labels" .root | nindent 4 }}
spec:
  policyName: {{ include "guildhall.clusterName" . }}
  validationActions: [Deny]
  matchResources:
    {{- include "guildhall.inRunNamespaces" .root | nindent 4 }}
{{- end }}

{{- define "guildhall.inRunNamespaces" -}}
namespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: In
    values: {{ .Values.runNamespaces | toJson }}
{{- end }}

{{- define "guildhall.policyHead" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "guildhall.clusterName" . }}
  labels:
    {{- include "guildhall.labels" .root | nindent 4 }}
{{- end }}

{{- /* CEL: whether the request comes from a component's account. Call with (dict "component" "api" "root" $). */}}
{{- define "guildhall.isAccount" -}}
request.userInfo.username == "{{ include "guildhall.account" . }}"
{{- end }}

{{- /* CEL: whether the request comes from a cluster's break-glass user, or from the machinery that empties a namespace. */}}
{{- define "guildhall.isAdmin" -}}
(has(request.userInfo.groups) && "system:masters" in request.userInfo.groups)
{{- end }}

{{- /* CEL: none of the status fields in the list differs. */}}
{{- define "guildhall.statusUnchanged" -}}
{{- $parts := list }}
{{- range . }}
{{- $parts = append $parts (printf "object.?status.?%s == oldObject.?status.?%s" . .) }}
{{- end }}
{{- join " && " $parts }}
{{- end }}
