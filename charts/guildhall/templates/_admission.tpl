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

{{- /* CEL: whether the request comes from the cluster's garbage collector, which takes owners off where --cascade=orphan asks for it. */}}
{{- define "guildhall.isCollector" -}}
request.userInfo.username in ["system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"]
{{- end }}

{{- /* CEL: none of the status fields in the list differs. */}}
{{- define "guildhall.statusUnchanged" -}}
{{- $parts := list }}
{{- range . }}
{{- $parts = append $parts (printf "object.?status.?%s == oldObject.?status.?%s" . .) }}
{{- end }}
{{- join " && " $parts }}
{{- end }}

{{- /*
CEL: what a Run's spec names and its author must be able to get. Call with (dict "spec" "object.spec" "what" "a Run of yours").
*/}}
{{- define "guildhall.references" -}}
variables:
- name: secrets
  expression: '[{{ .spec }}.?workspace.?git.?secretRef.?name.orValue(""), {{ .spec }}.?publish.?secretRef.?name.orValue("")].filter(name, name != "")'
- name: claims
  expression: '[{{ .spec }}.?workspace.?claim.?name.orValue(""), {{ .spec }}.?workspace.?template.?claim.orValue("")].filter(name, name != "")'
- name: configMap
  expression: {{ .spec }}.?workspace.?archive.?configMap.orValue("")
- name: guild
  expression: {{ .spec }}.?guildRef.?name.orValue("")
validations:
- expression: >-
    variables.secrets.all(name,
    authorizer.group("").resource("secrets").namespace(request.namespace).name(name).check("get").allowed())
  messageExpression: '"you may not get Secret " + variables.secrets.join(", ") + ", so {{ .what }} may not use it; ask for that right or name another Secret"'
  reason: Forbidden
- expression: >-
    variables.claims.all(name,
    authorizer.group("").resource("persistentvolumeclaims").namespace(request.namespace).name(name).check("get").allowed())
  messageExpression: '"you may not get PersistentVolumeClaim " + variables.claims.join(", ") + ", so {{ .what }} may not use it"'
  reason: Forbidden
- expression: >-
    variables.configMap == "" ||
    authorizer.group("").resource("configmaps").namespace(request.namespace).name(variables.configMap).check("get").allowed()
  messageExpression: '"you may not get ConfigMap " + variables.configMap + ", so {{ .what }} may not use it"'
  reason: Forbidden
- expression: >-
    variables.guild == "" ||
    authorizer.group("guildhall.dev").resource("guilds").namespace(request.namespace).name(variables.guild).check("get").allowed()
  messageExpression: '"you may not get Guild " + variables.guild + ", so {{ .what }} may not use it"'
  reason: Forbidden
{{- end }}

{{- /* CEL: what the platform team allows a Run to choose. Call with (dict "spec" "object.spec" "root" $). */}}
{{- define "guildhall.choices" -}}
- expression: '!has({{ .spec }}.runtimeClassName) || {{ .spec }}.runtimeClassName in {{ .root.Values.allowed.runtimeClasses | toJson }}'
  message: {{ printf "runtimeClassName is not one this cluster allows (%s); leave it out or ask the platform team" (.root.Values.allowed.runtimeClasses | join ", " | default "none") | toJson }}
- expression: '!has({{ .spec }}.priority) || {{ .spec }}.priority in {{ .root.Values.allowed.priorities | toJson }}'
  message: {{ printf "priority is not one this cluster allows (%s); leave it out or ask the platform team" (.root.Values.allowed.priorities | join ", " | default "none") | toJson }}
- expression: >-
    [{{ .spec }}.?workspace.?claim.?name.orValue(""), {{ .spec }}.?workspace.?template.?claim.orValue(""),
    {{ .spec }}.?workspace.?archive.?configMap.orValue("")].all(name, !name.matches({{ include "guildhall.recordName" . | quote }}))
  message: a workspace is never the journal, baseline or snapshot of a Run, nor a copy of one; name a source of your own
{{- $spec := .spec }}
{{- with .root.Values.allowed.imagePrefixes }}
- expression: '!has({{ $spec }}.image) || {{ . | toJson }}.exists(prefix, {{ $spec }}.image.startsWith(prefix))'
  message: {{ printf "image does not begin with one of %s; use one of those or ask the platform team" (join ", " .) | toJson }}
{{- end }}
{{- end }}

{{- /* RE2, in a CEL string: the names of what records a Run, which no Run is given as its source. */}}
{{- define "guildhall.recordName" -}}
-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-(journal|baseline|snapshot)$
{{- end }}

{{- /* RE2: the gate's configuration as the operator writes it, with what this release's values leave no choice about. */}}
{{- define "guildhall.gate" -}}
{{- $target := `\{"name":"[a-z0-9-]+","host":"[A-Za-z0-9.:-]+","port":[0-9]+,"required":(true|false)\}` -}}
{{- $enforce := .Values.isolation.require | ternary "true" "(true|false)" -}}
^\{"targets":\[{{ $target }}(,{{ $target }})*\],"gatewayHost":"[A-Za-z0-9.:-]+","gatewayPort":[0-9]+,"consecutiveDenials":{{ .Values.isolation.consecutiveDenials | int }},"attemptTimeoutMilliseconds":1000,"timeoutSeconds":{{ .Values.isolation.timeoutSeconds | int }},{{ with .Values.isolation.ownNodePort }}"ownNodePort":{{ . | int }},{{ end }}"enforce":{{ $enforce }}\}$
{{- end }}
