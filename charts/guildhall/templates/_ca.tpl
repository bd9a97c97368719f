{{- /*
What this upgrade does about the CA, as JSON, by what the cluster holds:
  signs        whether the CA may sign the gateway's certificate now; if not, the one that is served is kept
  signsFrom    from when it may; empty for a first CA
  former       PEM of CAs that stay in the bundle beside it
  formerUntil  until when they do; empty while the new CA does not sign yet
A new CA signs no earlier than ten minutes after it was published: kubelets refresh a mounted ConfigMap within a minute or
two, a large cluster's within seven. A former CA stays for 170 hours after that: the longest Run has 168.
Times are UTC and of one length, so they compare as strings.
*/}}
{{- define "guildhall.rotation" -}}
{{- $format := "2006-01-02T15:04:05Z" }}
{{- $now := dateInZone $format now "UTC" }}
{{- $overlap := dateInZone $format (now | dateModify "+170h") "UTC" }}
{{- $kept := lookup "v1" "Secret" .Release.Namespace "guildhall-ca" }}
{{- $served := get (lookup "v1" "Secret" .Release.Namespace "guildhall-gateway-tls") "data" | default dict }}
{{- $published := get (lookup "v1" "ConfigMap" .Release.Namespace "guildhall-gateway-ca") "data" | default dict }}
{{- $serves := and (get $served "tls.crt") (get $served "tls.key") }}
{{- $signsFrom := "" }}
{{- $former := "" }}
{{- $until := "" }}
{{- if $kept }}
{{- $notes := $kept.metadata.annotations | default dict }}
{{- $signsFrom = get $notes "guildhall.dev/signs-from" }}
{{- $until = get $notes "guildhall.dev/former-until" }}
{{- $former = get $kept.data "former.crt" | b64dec }}
{{- else }}
{{- $former = list (get $served "ca.crt" | b64dec) (get $published "ca.crt") | compact | join "\n" }}
{{- if $serves }}
{{- $signsFrom = dateInZone $format (now | dateModify "+10m") "UTC" }}
{{- end }}
{{- end }}
{{- $signs := or (not $serves) (ge $now $signsFrom) }}
{{- if and $kept $signs (eq (get $served "ca.crt") (index $kept.data "tls.crt")) $until (ge $now $until) }}
{{- $former = "" }}
{{- end }}
{{- if not (and $former $signs) }}
{{- $until = "" }}
{{- else if not $until }}
{{- $until = $overlap }}
{{- end }}
{{- dict "signs" $signs "signsFrom" $signsFrom "former" $former "formerUntil" $until | toJson }}
{{- end }}
