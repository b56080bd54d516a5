{{/* Names and labels: (list $ COMPONENT), of one of several (list $ COMPONENT PART). */}}
{{- define "sluice.name" -}}
{{ (index . 0).Release.Name }}-{{ join "-" (rest .) }}
{{- end }}

{{/* (list WRONG LINE): the line, where something is wrong. */}}
{{- define "sluice.refuse" -}}
{{- if index . 0 }}{{ fail (index . 1) }}{{ end }}
{{- end }}

{{/* The numbers of an autoscaler: (list KEY MIN MAX). */}}
{{- define "sluice.scale" -}}
{{- include "sluice.refuse" (list (gt (index . 1 | int) (index . 2 | int)) (printf "%s: at least %v is more than at most %v" (index . 0) (index . 1) (index . 2))) }}
minReplicaCount: {{ index . 1 }}
maxReplicaCount: {{ index . 2 }}
{{- end }}

{{/* A query file's name as a part's. */}}
{{- define "sluice.part" -}}
{{ trimSuffix ".yaml" . | replace "." "-" | replace "_" "-" | lower }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- if gt (len .) 2 }}
sluice/part: {{ index . 2 }}
{{- end }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}

{{- define "sluice.meta" -}}
name: {{ include "sluice.name" . }}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
{{- end }}

{{- define "sluice.queries" -}}
{{ default (printf "%s-queries" .Release.Name) .Values.queriesConfigMap }}
{{- end }}

{{/* The pod of a component: root, names (COMPONENT, PART), values, args; further: port, grace, secret, tls, ca, files
     (ConfigMaps by the path at which they are mounted), claims (the same of volumes; /archive is read only), text (of a file for whose change it is started anew), suffix of the image. */}}
{{- define "sluice.pod" -}}
{{- $values := .root.Values }}
metadata:
  labels:
    {{- include "sluice.labels" (prepend .names .root) | nindent 4 }}
  {{- with .text }}
  annotations:
    checksum/text: {{ sha256sum . }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .restart }}
  restartPolicy: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .grace | default 40 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with .values.nodeSelector }}
  nodeSelector: {{ toJson . }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations: {{ toJson . }}
  {{- end }}
  containers:
    - name: sluice
      image: "{{ $values.image.repository }}:{{ default .root.Chart.AppVersion $values.image.tag }}{{ .suffix }}"
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .args }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources: {{ toJson .values.resources }}
      {{- with .secret }}
      envFrom: [{secretRef: {name: {{ . }}}}]
      {{- end }}
      env:
        - {name: SLUICE_BROKER, value: {{ include "sluice.servers" .root | print "kafka://" | quote }}}
        - {name: SLUICE_KAFKA_SECURITY_PROTOCOL, value: {{ $values.broker.securityProtocol }}}
        - {name: SLUICE_CACHE, value: /var/lib/sluice/cache}
        - {name: XDG_DATA_HOME, value: /var/lib/sluice}
        {{- if hasPrefix "SASL" $values.broker.securityProtocol }}
        - {name: SLUICE_KAFKA_SASL_MECHANISM, value: {{ $values.broker.saslMechanism }}}
        {{- range $variable, $key := dict "SLUICE_KAFKA_USERNAME" "username" "SLUICE_KAFKA_PASSWORD" "password" }}
        - name: {{ $variable }}
          valueFrom: {secretKeyRef: {name: {{ required "broker.secret: SASL needs a Secret with username and password" $values.broker.secret }}, key: {{ $key }}}}
        {{- end }}
        {{- end }}
        {{- if $values.broker.caSecret }}
        - {name: SLUICE_KAFKA_CAFILE, value: /etc/sluice/kafka/ca.crt}
        {{- end }}
        {{- if .port }}
        - name: SLUICE_SERVE_SECRET
          valueFrom: {secretKeyRef: {name: {{ $values.accessSecret }}, key: token}}
        {{- end }}
        {{- range $name, $value := .values.env }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      {{- if .port }}
      ports:
        - {name: http, containerPort: {{ .port }}}
        {{- if eq (first .names) "backend" }}
        - {name: grpc, containerPort: 8001}
        {{- end }}
      startupProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 60}
      livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 15, timeoutSeconds: 5, failureThreshold: 20}
      readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 2}
      {{- end }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: storage, mountPath: /var/lib/sluice}
        {{- range $path, $name := .files }}
        - {name: {{ base $path }}, mountPath: {{ $path }}, readOnly: true}
        {{- end }}
        {{- if .secret }}
        - {name: secrets, mountPath: /etc/sluice/secrets, readOnly: true}
        {{- end }}
        {{- if .tls }}
        - {name: tls, mountPath: /etc/sluice/tls, readOnly: true}
        {{- end }}
        {{- if .ca }}
        - {name: ca, mountPath: /etc/sluice/ca, readOnly: true}
        {{- end }}
        {{- range $path, $name := .claims }}
        - {name: {{ base $path }}, mountPath: {{ $path }}{{ if eq $path "/archive" }}, readOnly: true{{ end }}}
        {{- end }}
        {{- if $values.modelsClaim }}
        - {name: models, mountPath: /models, readOnly: true}
        {{- end }}
        {{- if $values.broker.caSecret }}
        - {name: kafka, mountPath: /etc/sluice/kafka, readOnly: true}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {sizeLimit: 1Gi}}  # a network is quantised there, by three files
    - name: storage
      {{- if $values.storageClaim }}
      persistentVolumeClaim: {claimName: {{ $values.storageClaim }}}
      {{- else }}
      emptyDir: {sizeLimit: 4Gi}
      {{- end }}
    {{- range $path, $name := .files }}
    - {name: {{ base $path }}, configMap: {name: {{ $name }}}}
    {{- end }}
    {{- with .secret }}
    - {name: secrets, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- with .tls }}
    - {name: tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- with .ca }}
    - {name: ca, secret: {secretName: {{ . }}, items: [{key: ca.crt, path: ca.crt}]}}
    {{- end }}
    {{- range $path, $name := .claims }}
    - {name: {{ base $path }}, persistentVolumeClaim: {claimName: {{ $name }}{{ if eq $path "/archive" }}, readOnly: true{{ end }}}}
    {{- end }}
    {{- with $values.modelsClaim }}
    - {name: models, persistentVolumeClaim: {claimName: {{ . }}, readOnly: true}}
    {{- end }}
    {{- with $values.broker.caSecret }}
    - {name: kafka, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
{{- end }}

{{/* A Deployment of such pods, and its budget for disruption. Further: replicas, scaled (KEDA says how many), once
     (never two at the same time). */}}
{{- define "sluice.deployment" -}}
{{- $names := prepend .names .root }}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "sluice.meta" $names | nindent 2 }}
spec:
  {{- if not .scaled }}
  replicas: {{ kindIs "invalid" .replicas | ternary 1 .replicas }}
  {{- end }}
  strategy: {{ if .once }}{type: Recreate}{{ else }}{type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}{{ end }}
  selector:
    matchLabels:
      {{- include "sluice.selector" $names | nindent 6 }}
  template:
    {{- include "sluice.pod" . | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "sluice.meta" $names | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "sluice.selector" $names | nindent 6 }}
{{- end }}

{{/* The beginning of topics' names, for parts without a query too: all queries have one. Nothing where no text says it. */}}
{{- define "sluice.prefix" -}}
{{- $said := "" }}
{{- range $file, $text := .Values.queries }}{{ $said = default $said (dig "publish" "topics" "prefix" "" (fromYaml $text)) }}{{ end }}
{{- default $said .Values.prefix }}
{{- end }}

{{/* The options of all commands that speak to the broker. */}}
{{- define "sluice.options" -}}
{{- $options := list "--alive" "/tmp/alive" }}
{{- with include "sluice.prefix" . }}{{ $options = concat $options (list "--prefix" .) }}{{ end }}
{{- toJson $options }}
{{- end }}

{{/* The brokers, each with its port. */}}
{{- define "sluice.servers" -}}
{{- $servers := list }}
{{- range trimPrefix "kafka://" .Values.broker.url | splitList "," }}
{{- $server := ternary . (print . ":9092") (regexMatch ":[0-9]*$" .) }}
{{- $port := regexFind "[0-9]*$" $server | atoi }}
{{- $good := regexMatch "^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:]+\\]):[0-9]{1,5}$" $server }}
{{- include "sluice.refuse" (list (or (not $good) (lt $port 1) (gt $port 65535)) (printf "broker.url: %q is not HOST:PORT" .)) }}
{{- $servers = append $servers $server }}
{{- end }}
{{- join "," $servers }}
{{- end }}

{{- define "sluice.models" -}}
{{- toJson (ternary (list "--models" "/models") list (ne .Values.modelsClaim "")) }}
{{- end }}
