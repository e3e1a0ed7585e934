// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	security "k8s.io/pod-security-admission/api"
	securitypolicy "k8s.io/pod-security-admission/policy"
)

// maxSize is how many bytes an object may have: kubectl apply keeps it in an
// annotation, and those of an object have 256 KiB together.
const maxSize = 250 << 10

// problems returns what is wrong with objects that are applied together, as far
// as it can be told without a cluster: security, and names, labels and ports
// that refer to each other.
func problems(objects []runtime.Object) (found []string) {
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	deployments := of[*apps.Deployment](objects)
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil || len(text) > maxSize {
			add("%s: %d bytes (%v), of which %d can be applied", object.GetObjectKind().GroupVersionKind(), len(text), err, maxSize)
		}
	}
	for _, d := range deployments {
		name := "Deployment " + d.Name
		if !selects(d.Spec.Selector, d.Spec.Template.Labels) {
			add("%s does not select its own pods", name)
		}
		for _, problem := range podProblems(&d.Spec.Template, configMaps(objects, d.Namespace)) {
			add("%s: %s", name, problem)
		}
	}
	for _, s := range of[*core.Service](objects) {
		pods := podsOf(deployments, s.Namespace, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
		if len(pods) == 0 {
			add("Service %s selects no pods", s.Name)
		}
		for _, pod := range pods {
			for _, p := range s.Spec.Ports {
				if _, ok := portOf(pod, p.TargetPort); !ok {
					add("Service %s: its pods have no port %s", s.Name, p.TargetPort.String())
				}
			}
		}
	}
	for _, b := range of[*policy.PodDisruptionBudget](objects) {
		if len(podsOf(deployments, b.Namespace, b.Spec.Selector)) == 0 {
			add("PodDisruptionBudget %s selects no pods", b.Name)
		}
	}
	for _, m := range of[*monitoring.PodMonitor](objects) {
		namespace := m.Namespace
		if m.Spec.NamespaceSelector.Any {
			namespace = anyNamespace
		}
		pods := podsOf(deployments, namespace, &m.Spec.Selector)
		if len(deployments) > 0 && len(pods) == 0 {
			add("PodMonitor %s selects no pods", m.Name)
		}
		for _, pod := range pods {
			for _, e := range m.Spec.PodMetricsEndpoints {
				if _, ok := portOf(pod, intstr.FromString(*e.Port)); !ok {
					add("PodMonitor %s: its pods have no port %s", m.Name, *e.Port)
				}
			}
		}
		if m.Spec.ScrapeNativeHistograms == nil || !*m.Spec.ScrapeNativeHistograms {
			add("PodMonitor %s does not scrape native histograms", m.Name)
		}
	}
	return found
}

const anyNamespace = "*"

// podsOf returns the templates of the pods that a selector selects.
func podsOf(deployments []*apps.Deployment, namespace string, selector *meta.LabelSelector) (pods []*core.PodTemplateSpec) {
	for _, d := range deployments {
		if (namespace == anyNamespace || d.Namespace == namespace) && selects(selector, d.Spec.Template.Labels) {
			pods = append(pods, &d.Spec.Template)
		}
	}
	return pods
}

// selects reports whether a selector that is not empty matches.
func selects(selector *meta.LabelSelector, set map[string]string) bool {
	s, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && s.Matches(labels.Set(set))
}

// configMaps returns those of a namespace by name.
func configMaps(objects []runtime.Object, namespace string) map[string]*core.ConfigMap {
	byName := map[string]*core.ConfigMap{}
	for _, c := range of[*core.ConfigMap](objects) {
		if c.Namespace == namespace {
			byName[c.Name] = c
		}
	}
	return byName
}

// containers returns all of a pod, sidecars first.
func containers(spec *core.PodSpec) []core.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// portOf returns the number of the container's port that is meant.
func portOf(pod *core.PodTemplateSpec, port intstr.IntOrString) (number int32, ok bool) {
	for _, c := range containers(&pod.Spec) {
		for _, p := range c.Ports {
			if p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

var restricted = func() securitypolicy.Evaluator {
	evaluator, err := securitypolicy.NewEvaluator(securitypolicy.DefaultChecks(), nil)
	if err != nil {
		panic(err)
	}
	return evaluator
}()

// podProblems returns what is wrong with a pod.
func podProblems(pod *core.PodTemplateSpec, known map[string]*core.ConfigMap) (found []string) {
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	level := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	if result := securitypolicy.AggregateCheckResults(restricted.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		add("not of the Pod security level restricted: %s", result.ForbiddenDetail())
	}
	if mounted := pod.Spec.AutomountServiceAccountToken; mounted == nil || *mounted {
		add("the service account's token is mounted")
	}
	volumes := map[string]core.Volume{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = v
		if v.ConfigMap != nil && known[v.ConfigMap.Name] == nil {
			add("there is no ConfigMap %s, only %v", v.ConfigMap.Name, slices.Sorted(maps.Keys(known)))
		}
	}
	ports := sets.New[string]()
	for _, c := range containers(&pod.Spec) {
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			add("%s: its root is not read-only", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if _, ok := volumes[m.Name]; !ok {
				add("%s: there is no volume %s", c.Name, m.Name)
			}
		}
		own := sets.New[string]()
		for _, p := range c.Ports {
			if own.Insert(p.Name); ports.Has(p.Name) {
				add("%s: the port %s is another container's too", c.Name, p.Name)
			}
		}
		ports = ports.Union(own)
		for kind, probe := range map[string]*core.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
			if probe == nil {
				continue
			}
			switch h := probe.ProbeHandler; {
			case h.HTTPGet != nil && own.Has(h.HTTPGet.Port.StrVal), h.TCPSocket != nil && own.Has(h.TCPSocket.Port.StrVal):
			default:
				add("%s: its %s probe asks no port of it", c.Name, kind)
			}
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			add("%s: it has no request for CPU or no limit of memory", c.Name)
		}
		found = append(found, opaProblems(pod, c)...)
	}
	return found
}

// opaProblems returns what is wrong with a container that runs OPA.
func opaProblems(pod *core.PodTemplateSpec, c core.Container) (found []string) {
	if len(c.Args) == 0 || c.Args[0] != "run" {
		return nil
	}
	period := func(flag string, otherwise int64) int64 {
		for _, arg := range c.Args {
			if value, ok := strings.CutPrefix(arg, flag+"="); ok {
				otherwise, _ = strconv.ParseInt(value, 10, 64) // OPA refuses what is no number
			}
		}
		return otherwise
	}
	stop := period("--shutdown-wait-period", 0) + period("--shutdown-grace-period", 10)
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace <= stop {
		found = append(found, fmt.Sprintf("%s: it takes %d s to stop, and is killed before", c.Name, stop))
	}
	env, err := environment(&c)
	if err != nil {
		return append(found, fmt.Sprintf("%s: %v", c.Name, err))
	}
	memory := c.Resources.Limits.Memory().Value()
	if limit, _ := strconv.ParseInt(env["GOMEMLIMIT"], 10, 64); limit < memory*9/10 || limit > memory*97/100 {
		found = append(found, fmt.Sprintf("%s: GOMEMLIMIT is %q of %d bytes", c.Name, env["GOMEMLIMIT"], memory))
	}
	if cpu := c.Resources.Limits.Cpu(); cpu.MilliValue() == 0 || cpu.MilliValue()%1000 != 0 {
		found = append(found, fmt.Sprintf("%s: a limit of %s CPUs, from which Go takes GOMAXPROCS, is not whole", c.Name, cpu))
	}
	return found
}

// TestProblems: what is broken is told.
func TestProblems(t *testing.T) {
	const pod = "/spec/template/spec"
	for _, c := range []struct{ kind, path, value, want string }{
		{"Service", "/spec/ports/0/targetPort", "htpp", "Service opa: its pods have no port htpp"},
		{"Service", "/spec/selector/app.kubernetes.io~1name", "oap", "Service opa selects no pods"},
		{"Deployment", pod + "/containers/0/argz", "[]", `unknown field "spec.template.spec.containers[0].argz"`},
		{"Deployment", pod + "/containers/0/ports/0/containerPort", "http", "cannot unmarshal string"},
		{"Deployment", pod + "/containers/0/securityContext/privileged", "true", "privileged"},
		{"Deployment", pod + "/containers/0/securityContext/readOnlyRootFilesystem", "false", "its root is not read-only"},
		{"Deployment", pod + "/securityContext", "{}", "runAsNonRoot != true"},
		{"Deployment", pod + "/automountServiceAccountToken", "true", "token is mounted"},
		{"Deployment", pod + "/hostNetwork", "true", "host namespaces"},
		{"Deployment", pod + "/volumes/0/configMap/name", "other", "there is no ConfigMap other"},
		{"Deployment", pod + "/containers/0/volumeMounts/0/name", "other", "there is no volume other"},
		{"Deployment", pod + "/containers/0/livenessProbe/httpGet/port", "other", "its liveness probe asks no port of it"},
		{"Deployment", pod + "/containers/0/ports/1/name", "other", "PodMonitor opa: its pods have no port diagnostics"},
		{"Deployment", pod + "/containers/0/resources/limits/cpu", "1500m", "1500m CPUs"},
		{"Deployment", pod + "/containers/0/resources/requests", "{}", "no request for CPU"},
		{"Deployment", pod + "/containers/0/env/1/value", "1GiB", `GOMEMLIMIT is "1GiB"`},
		{"Deployment", pod + "/terminationGracePeriodSeconds", "20", "it takes 20 s to stop"},
		{"Deployment", "/spec/template/metadata/labels", "{app.kubernetes.io/name: oap}", "Deployment opa does not select its own pods"},
		{"PodDisruptionBudget", "/spec/selector/matchLabels", "{other: label}", "PodDisruptionBudget opa selects no pods"},
		{"PodMonitor", "/spec/selector/matchLabels", "{other: label}", "PodMonitor opa selects no pods"},
		{"PodMonitor", "/spec/scrapeNativeHistograms", "false", "does not scrape native histograms"},
		{"PodMonitor", "/spec/nativeHistogram", "true", `unknown field "spec.nativeHistogram"`},
	} {
		t.Run(c.kind+c.path, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t)
			write(t, dir, "broken/kustomization.yaml", fmt.Sprintf(`
resources: [../examples/kubernetes]
patches:
  - target: {kind: %s}
    patch: |
      - {op: add, path: %s, value: %s}
`, c.kind, c.path, c.value))
			objects, err := render(dir + "/broken")
			told := strings.Join(problems(objects), "\n")
			if err != nil {
				told = err.Error()
			}
			if !strings.Contains(told, c.want) {
				t.Errorf("got %q, want %q", told, c.want)
			}
		})
	}
}
