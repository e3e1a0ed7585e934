// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	security "k8s.io/pod-security-admission/api"
	securitypolicy "k8s.io/pod-security-admission/policy"
)

// maxSize limits the bytes of an object: kubectl apply keeps the object in an
// annotation, and an object has at most 256 KiB of annotations.
const maxSize = 250 << 10

// A report is a list of problems.
type report []string

func (r *report) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// problems returns the problems of objects that are applied together: of their
// security, and of the names, labels and ports by which they refer to each
// other.
func problems(objects []runtime.Object) (found report) {
	deployments := of[*apps.Deployment](objects)
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil || len(text) > maxSize {
			found.add("%s: %d bytes (%v), want at most %d", object.GetObjectKind().GroupVersionKind(), len(text), err, maxSize)
		}
	}
	for _, d := range deployments {
		name := "Deployment " + d.Name
		if !selects(d.Spec.Selector, d.Spec.Template.Labels) {
			found.add("%s does not select its own pods", name)
		}
		for _, problem := range podProblems(&d.Spec.Template, configMaps(objects, d.Namespace)) {
			found.add("%s: %s", name, problem)
		}
	}
	for _, s := range of[*core.Service](objects) {
		pods := podsOf(deployments, s.Namespace, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
		if len(pods) == 0 {
			found.add("Service %s selects no pods", s.Name)
		}
		for _, pod := range pods {
			for _, p := range s.Spec.Ports {
				if _, ok := portOf(pod, p.TargetPort); !ok {
					found.add("Service %s: its pods have no port %s", s.Name, p.TargetPort.String())
				}
			}
		}
	}
	for _, b := range of[*policy.PodDisruptionBudget](objects) {
		if len(podsOf(deployments, b.Namespace, b.Spec.Selector)) == 0 {
			found.add("PodDisruptionBudget %s selects no pods", b.Name)
		}
	}
	for _, n := range of[*networking.NetworkPolicy](objects) {
		pods := podsOf(deployments, n.Namespace, &n.Spec.PodSelector)
		if len(pods) == 0 {
			found.add("NetworkPolicy %s selects no pods", n.Name)
		}
		for _, pod := range pods {
			for _, rule := range n.Spec.Ingress {
				for _, p := range rule.Ports {
					if _, ok := portOf(pod, *p.Port); !ok {
						found.add("NetworkPolicy %s: its pods have no port %s", n.Name, p.Port.String())
					}
				}
			}
		}
	}
	for _, m := range of[*monitoring.PodMonitor](objects) {
		namespace := m.Namespace
		if m.Spec.NamespaceSelector.Any {
			namespace = anyNamespace
		}
		pods := podsOf(deployments, namespace, &m.Spec.Selector)
		if len(deployments) > 0 && len(pods) == 0 {
			found.add("PodMonitor %s selects no pods", m.Name)
		}
		for _, pod := range pods {
			for _, e := range m.Spec.PodMetricsEndpoints {
				if _, ok := portOf(pod, intstr.FromString(*e.Port)); !ok {
					found.add("PodMonitor %s: its pods have no port %s", m.Name, *e.Port)
				}
			}
		}
		if m.Spec.ScrapeNativeHistograms == nil || !*m.Spec.ScrapeNativeHistograms {
			found.add("PodMonitor %s does not scrape native histograms", m.Name)
		}
		if m.Spec.SampleLimit == nil {
			found.add("PodMonitor %s has no sampleLimit", m.Name)
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

// configMaps returns the ConfigMaps of a namespace by name.
func configMaps(objects []runtime.Object, namespace string) map[string]*core.ConfigMap {
	byName := map[string]*core.ConfigMap{}
	for _, c := range of[*core.ConfigMap](objects) {
		if c.Namespace == namespace {
			byName[c.Name] = c
		}
	}
	return byName
}

// containers returns the containers of a pod, sidecars first.
func containers(spec *core.PodSpec) []core.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// portOf returns the number of a container's port.
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

// podProblems returns the problems of a pod.
func podProblems(pod *core.PodTemplateSpec, known map[string]*core.ConfigMap) (found report) {
	level := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	if result := securitypolicy.AggregateCheckResults(restricted.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		found.add("violates the Pod security level restricted: %s", result.ForbiddenDetail())
	}
	if mounted := pod.Spec.AutomountServiceAccountToken; mounted == nil || *mounted {
		found.add("the service account's token is mounted")
	}
	if s := pod.Spec.SecurityContext; s == nil || s.RunAsUser == nil || *s.RunAsUser <= 10000 || s.RunAsGroup == nil || *s.RunAsGroup <= 10000 {
		found.add("its user or group is not above 10000, and a node may have it too")
	}
	volumes := map[string]core.Volume{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = v
		if v.ConfigMap != nil && known[v.ConfigMap.Name] == nil {
			found.add("there is no ConfigMap %s, only %v", v.ConfigMap.Name, slices.Sorted(maps.Keys(known)))
		}
	}
	ports := sets.New[string]()
	for _, c := range containers(&pod.Spec) {
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			found.add("%s: its root is not read-only", c.Name)
		}
		if c.ImagePullPolicy == "" {
			found.add("%s: it has no imagePullPolicy, and the default depends on the tag", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if _, ok := volumes[m.Name]; !ok {
				found.add("%s: there is no volume %s", c.Name, m.Name)
			}
		}
		own := sets.New[string]()
		for _, p := range c.Ports {
			if own.Insert(p.Name); ports.Has(p.Name) {
				found.add("%s: another container also has a port %s", c.Name, p.Name)
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
				found.add("%s: its %s probe does not ask one of its ports", c.Name, kind)
			}
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			found.add("%s: it has no request for CPU or no limit of memory", c.Name)
		}
		if len(c.Args) > 0 && c.Args[0] == "run" {
			found = append(found, opaProblems(pod, c)...)
		}
	}
	return found
}

// opaProblems returns the problems of a container that runs OPA.
func opaProblems(pod *core.PodTemplateSpec, c core.Container) (found report) {
	seconds := map[string]int64{"--shutdown-wait-period": 0, "--shutdown-grace-period": 10} // OPA's defaults
	for _, arg := range c.Args {
		flag, value, _ := strings.Cut(arg, "=")
		if _, ok := seconds[flag]; ok {
			seconds[flag], _ = strconv.ParseInt(value, 10, 64) // OPA refuses other values
		}
	}
	stop := seconds["--shutdown-wait-period"] + seconds["--shutdown-grace-period"]
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace <= stop {
		found.add("%s: it takes %d s to stop, and the kubelet kills it earlier", c.Name, stop)
	}
	env, err := environment(&c)
	if err != nil {
		found.add("%s: %v", c.Name, err)
	}
	memory := c.Resources.Limits.Memory().Value()
	if limit, _ := strconv.ParseInt(env["GOMEMLIMIT"], 10, 64); limit < memory*9/10 || limit > memory*97/100 {
		found.add("%s: GOMEMLIMIT is %q of %d bytes", c.Name, env["GOMEMLIMIT"], memory)
	}
	if cpu := c.Resources.Limits.Cpu(); cpu.MilliValue() == 0 || cpu.MilliValue()%1000 != 0 {
		found.add("%s: a limit of %s CPUs, from which Go takes GOMAXPROCS, is not a whole number", c.Name, cpu)
	}
	return found
}

// breakExample returns the folder of a kustomization that sets a field of the
// example's objects of one kind.
func breakExample(t *testing.T, kind, path, value string) string {
	dir := workspace(t)
	write(t, dir, "broken/kustomization.yaml", fmt.Sprintf(`
resources: [../examples/kubernetes]
patches:
  - target: {kind: %s}
    patch: |
      - {op: add, path: %s, value: %s}
`, kind, path, value))
	return filepath.Join(dir, "broken")
}
