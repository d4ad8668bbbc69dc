package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

// chartsFrom is where the charts of TestE2EPublishedCharts come from: the word published for the repositories in which their makers publish them, or
// a folder with their archives, each NAME-VERSION.tgz. Without it the test is skipped: CI contacts no outside server, and no chart is kept here.
var chartsFrom = flag.String("charts", "", "published, or a folder of archives NAME-VERSION.tgz: the charts for TestE2EPublishedCharts")

// TestE2EPublishedCharts installs every addon from its authors' own chart, in the default version and with the program's
// values, and checks what an API server, its controllers and a scheduler can show. Run it with
//
//	go test ./tests/e2e -run TestE2EPublishedCharts -charts published -timeout 60m
func TestE2EPublishedCharts(t *testing.T) {
	t.Parallel()
	if *chartsFrom == "" {
		t.Skip("needs charts of other people: run it with -charts published, or -charts FOLDER")
	}
	r := &published{rehearsal: newRehearsal(t, "e2e-published"), repository: chartRepository(t, *chartsFrom)}
	r.askForAll()
	r.mustRun(0, "up", "--lab", "--yes")

	r.releasesAreThoseOfTheDefaults()
	r.valuesAreKnownToTheirCharts()
	r.everythingIsReady()
	r.podsRunWhereTheyShould()
	r.kindsAreEstablished()
	r.objectsAreStoredAsTheyWereGiven()
	r.hooksRan()
	r.podSecurityRefusesNone()
	r.nothingStandsInTheWayOfRequests()
	r.mustRun(0, "preview", "--lab", "--refresh")
	r.ciliumIsUpgraded()
	r.allButCiliumLeave()
	r.subchartComesAndGoes()
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// published is a rehearsal whose addons come from their makers' charts.
type published struct {
	*rehearsal
	repository  string // empty: each chart's own
	ciliumAlone string // cluster.yaml with no addon but Cilium
}

// chartRepository serves a folder of archives as Helm's repositories do; empty for the published ones.
func chartRepository(t *testing.T, from string) string {
	t.Helper()
	if from == "published" {
		return ""
	}
	archives, err := filepath.Glob(filepath.Join(from, "*.tgz"))
	require.NoError(t, err)
	require.NotEmpty(t, archives, "no archives NAME-VERSION.tgz in %s", from)
	name := regexp.MustCompile(`^(.+)-(v?[0-9]+\.[0-9]+\.[0-9]+)\.tgz$`)
	entries := map[string][]map[string]any{}
	for _, archive := range archives {
		if parts := name.FindStringSubmatch(filepath.Base(archive)); parts != nil {
			entries[parts[1]] = append(entries[parts[1]], map[string]any{"apiVersion": "v2", "name": parts[1], "version": parts[2], "urls": []string{filepath.Base(archive)}})
		}
	}
	index, err := json.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
	require.NoError(t, err)
	files := http.FileServer(http.Dir(from))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/index.yaml" {
			_, _ = w.Write(index) // JSON is YAML; a client that is gone has ended the test
			return
		}
		files.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// chart returns the key that leads to the repository, with what else an addon has.
func (p *published) chart(further string) string {
	var keys []string
	if p.repository != "" {
		keys = append(keys, "chart: {repository: \""+p.repository+"\"}")
	}
	if further != "" {
		keys = append(keys, further)
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// askForAll writes an inventory with every addon: a control plane with Talos' own taint, a worker, and a gpu-worker with an
// additional taint.
func (p *published) askForAll() {
	p.t.Helper()
	p.addNode("{name: k3s-dev-gpu-1, role: gpu-worker, vmid: 110, address: 192.168.20.31, gpus: [{mapping: rtx3090}], taints: {example.com/dear: yes:NoSchedule}}")
	p.writeInventory("age.txt", sopstest.NewKey(p.t).String()+"\n")
	p.edit("cluster.yaml", "  cni: flannel\n", "  cni: cilium\n")
	p.writeInventory("cluster.yaml", p.inventoryText("cluster.yaml")+"addons:\n"+
		"  cilium: "+p.chart("kubeProxyReplacement: true")+"\n"+
		"  kubeletServingCertApprover: "+p.chart("")+"\n"+
		"  metricsServer: "+p.chart("")+"\n"+
		"  flux: "+p.chart("gitRepository: {url: \"https://git.example/cluster\"}, kustomization: {}, decryption: {ageKeyFile: age.txt}")+"\n"+
		"  gpu: {devicePlugin: "+p.chart("timeSlicing: {replicas: 4}")+"}\n")
}

// helmRelease is a release in Helm's Secret (helm v3.20.2, pkg/storage/driver/util.go, encodeRelease).
type helmRelease struct {
	Name   string
	Config map[string]any // the values that it was given
	Chart  struct {
		Metadata struct{ Name, Version, AppVersion string }
		Values   map[string]any
	}
	Hooks []struct {
		Name    string
		Events  []string
		LastRun struct{ Phase string } `json:"last_run"`
	}
}

// releases are those that are deployed, by name.
func (p *published) releases() map[string]helmRelease {
	p.t.Helper()
	kept, err := p.kubernetes().CoreV1().Secrets("").List(p.t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	require.NoError(p.t, err)
	found := map[string]helmRelease{}
	for _, secret := range kept.Items {
		packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
		require.NoError(p.t, err, secret.Name)
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		require.NoError(p.t, err, secret.Name)
		text, err := io.ReadAll(unpacked)
		require.NoError(p.t, err, secret.Name)
		var release helmRelease
		require.NoError(p.t, json.Unmarshal(text, &release), secret.Name)
		found[release.Name] = release
	}
	return found
}

// releasesAreThoseOfTheDefaults: each addon is installed, in the version that an inventory without one means.
func (p *published) releasesAreThoseOfTheDefaults() {
	loaded, err := inventory.Load(p.inventory)
	require.NoError(p.t, err)
	addons := loaded.Cluster.Addons
	want := map[string]string{
		"cilium": addons.Cilium.Version.String(), "kubelet-csr-approver": addons.KubeletServingCertApprover.Version.String(),
		"metrics-server": addons.MetricsServer.Version.String(), "flux2": addons.Flux.Version.String(),
		"nvidia-device-plugin": addons.GPU.DevicePlugin.Version.String(),
	}
	got := map[string]string{}
	for name, release := range p.releases() {
		require.Equal(p.t, name, release.Chart.Metadata.Name)
		got[name] = release.Chart.Metadata.Version
		p.t.Logf("%s %s installs %s", name, release.Chart.Metadata.Version, release.Chart.Metadata.AppVersion)
	}
	require.Equal(p.t, want, got)
}

// valuesAreKnownToTheirCharts: Helm also accepts values that no template reads, so a renamed key would not be noticed. A
// chart's own values contain every key that it reads; below an empty mapping the keys are free.
func (p *published) valuesAreKnownToTheirCharts() {
	var unknown []string
	for name, release := range p.releases() {
		unknown = append(unknown, unknownValues(name, release.Config, release.Chart.Values)...)
	}
	require.Empty(p.t, unknown)
}

func unknownValues(path string, given, known map[string]any) []string {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(given)) {
		default_, found := known[key]
		inner, isMapping := given[key].(map[string]any)
		below, wasMapping := default_.(map[string]any)
		switch {
		case !found:
			unknown = append(unknown, path+"."+key)
		case isMapping && wasMapping && len(below) > 0:
			unknown = append(unknown, unknownValues(path+"."+key, inner, below)...)
		}
	}
	return unknown
}

// everythingIsReady: no pod waits, be it for a node or for anything else.
func (p *published) everythingIsReady() {
	p.eventually("every pod runs", func() bool {
		pods, err := p.kubernetes().CoreV1().Pods("").List(p.t.Context(), metav1.ListOptions{})
		require.NoError(p.t, err)
		return !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
			return pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodSucceeded
		})
	})
	deployments, err := p.kubernetes().AppsV1().Deployments("").List(p.t.Context(), metav1.ListOptions{})
	require.NoError(p.t, err)
	for _, deployment := range deployments.Items {
		require.Equal(p.t, *deployment.Spec.Replicas, deployment.Status.ReadyReplicas, deployment.Name)
	}
}

// podsRunWhereTheyShould: the real scheduler placed them, by taints, tolerations and affinities.
func (p *published) podsRunWhereTheyShould() {
	const control, worker, gpu = "k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-gpu-1"
	for selector, want := range map[string][]string{
		"k8s-app=cilium":                              {control, gpu, worker},
		"k8s-app=cilium-envoy":                        {control, gpu, worker},
		"name=cilium-operator":                        {control, worker},
		"app=source-controller":                       {worker},
		"app=kustomize-controller":                    {worker},
		"app.kubernetes.io/name=metrics-server":       {worker},
		"app.kubernetes.io/name=nvidia-device-plugin": {gpu},
	} {
		require.Equal(p.t, want, p.nodesOf(selector), selector)
	}
	require.NotContains(p.t, p.nodesOf("app.kubernetes.io/name=kubelet-csr-approver"), gpu)
	node, err := p.kubernetes().CoreV1().Nodes().Get(p.t.Context(), gpu, metav1.GetOptions{})
	require.NoError(p.t, err)
	offered := node.Status.Allocatable["nvidia.com/gpu"]
	require.Equal(p.t, "4", offered.String(), "one GPU, shared by four")
}

// nodesOf returns the nodes that the pods of a selector run on, each once.
func (p *published) nodesOf(selector string) []string {
	p.t.Helper()
	pods, err := p.kubernetes().CoreV1().Pods("").List(p.t.Context(), metav1.ListOptions{LabelSelector: selector})
	require.NoError(p.t, err)
	nodes := map[string]bool{}
	for _, pod := range pods.Items {
		nodes[pod.Spec.NodeName] = true
	}
	return slices.Sorted(maps.Keys(nodes))
}

// conditioned is a list of objects with conditions.
type conditioned struct {
	Items []struct {
		Metadata metav1.ObjectMeta
		Status   struct {
			Conditions []metav1.Condition
		}
	}
}

// lacking returns the objects at a path whose condition is not true, and all of them.
func (p *published) lacking(path, condition string) (lacking, all []string) {
	p.t.Helper()
	text, err := p.kubernetes().CoreV1().RESTClient().Get().AbsPath(path).DoRaw(p.t.Context())
	require.NoError(p.t, err)
	var list conditioned
	require.NoError(p.t, json.Unmarshal(text, &list))
	for _, item := range list.Items {
		all = append(all, item.Metadata.Name)
		if !slices.ContainsFunc(item.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition && c.Status == metav1.ConditionTrue }) {
			lacking = append(lacking, item.Metadata.Name)
		}
	}
	return lacking, all
}

const (
	kindsPath    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	servicesPath = "/apis/apiregistration.k8s.io/v1/apiservices"
)

func (p *published) kindsAreEstablished() {
	lacking, all := p.lacking(kindsPath, "Established")
	require.Empty(p.t, lacking)
	require.Subset(p.t, all, []string{
		"gitrepositories.source.toolkit.fluxcd.io", "ocirepositories.source.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io",
		"helmreleases.helm.toolkit.fluxcd.io",
	})
}

// objectsAreStoredAsTheyWereGiven: an API server drops what a real CRD does not know, without a word.
func (p *published) objectsAreStoredAsTheyWereGiven() {
	require.Subset(p.t, p.custom("source.toolkit.fluxcd.io", "gitrepositories"), map[string]any{
		"url": "https://git.example/cluster", "interval": "1m0s", "ref": map[string]any{"branch": "main"},
	})
	require.Subset(p.t, p.custom("kustomize.toolkit.fluxcd.io", "kustomizations"), map[string]any{
		"path": "./", "interval": "10m0s", "prune": true, "deletionPolicy": "Orphan",
		"sourceRef":  map[string]any{"kind": "GitRepository", "name": "flux-system"},
		"decryption": map[string]any{"provider": "sops", "secretRef": map[string]any{"name": "sops-age"}},
	})
}

// hooksRan: Flux checks the cluster before it is installed; its job is gone when it has succeeded.
func (p *published) hooksRan() {
	ran := map[string]string{}
	for name, release := range p.releases() {
		for _, hook := range release.Hooks {
			if slices.Contains(hook.Events, "pre-install") || slices.Contains(hook.Events, "post-install") {
				ran[name+"/"+hook.Name] = hook.LastRun.Phase
			}
		}
	}
	require.Equal(p.t, "Succeeded", ran["flux2/flux2-flux-check"], "%v", ran)
	for hook, phase := range ran {
		require.Equal(p.t, "Succeeded", phase, hook)
	}
	jobs, err := p.kubernetes().BatchV1().Jobs("").List(p.t.Context(), metav1.ListOptions{})
	require.NoError(p.t, err)
	require.Empty(p.t, jobs.Items)
}

// podSecurityRefusesNone of the charts' pods. A refusal is visible only as an event, since controllers create the pods.
func (p *published) podSecurityRefusesNone() {
	events, err := p.kubernetes().CoreV1().Events("").List(p.t.Context(), metav1.ListOptions{})
	require.NoError(p.t, err)
	for _, event := range events.Items {
		require.NotContains(p.t, event.Message, "violates PodSecurity", event.InvolvedObject.Name)
	}
	privileged := true
	for namespace, allowed := range map[string]bool{"flux-system": false, "kube-system": true} {
		_, err := p.kubernetes().CoreV1().Pods(namespace).Create(p.t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "none.example/none", SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
			}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.Equal(p.t, allowed, err == nil, "%s: %v", namespace, err)
		require.Equal(p.t, !allowed, errors.IsForbidden(err), "%s: %v", namespace, err)
	}
}

// nothingStandsInTheWayOfRequests: a webhook without a running server can block a whole cluster. No chart contains one. The API
// of metrics-server is the only one with a server of its own, which the lab does not run.
func (p *published) nothingStandsInTheWayOfRequests() {
	hooks := p.kubernetes().AdmissionregistrationV1()
	validating, err := hooks.ValidatingWebhookConfigurations().List(p.t.Context(), metav1.ListOptions{})
	require.NoError(p.t, err)
	require.Empty(p.t, validating.Items)
	mutating, err := hooks.MutatingWebhookConfigurations().List(p.t.Context(), metav1.ListOptions{})
	require.NoError(p.t, err)
	require.Empty(p.t, mutating.Items)
	unavailable, _ := p.lacking(servicesPath, "Available")
	require.Equal(p.t, []string{"v1beta1.metrics.k8s.io"}, unavailable)
}

// ciliumIsUpgraded: its operator finds a node for each of its pods while the former ones leave.
func (p *published) ciliumIsUpgraded() {
	p.edit("cluster.yaml", "kubeProxyReplacement: true", "kubeProxyReplacement: true, values: {operator: {podAnnotations: {example.com/changed: \"yes\"}}}")
	p.mustRun(0, "up", "--lab", "--yes")
	p.everythingIsReady()
	operator, err := p.kubernetes().AppsV1().Deployments("kube-system").Get(p.t.Context(), "cilium-operator", metav1.GetOptions{})
	require.NoError(p.t, err)
	require.Equal(p.t, "yes", operator.Spec.Template.Annotations["example.com/changed"])
	p.mustRun(0, "preview", "--lab")
}

// allButCiliumLeave: what a release has brought goes with it, kinds and hooks' objects included.
func (p *published) allButCiliumLeave() {
	text := p.inventoryText("cluster.yaml")
	p.ciliumAlone = text[:strings.Index(text, "  kubeletServingCertApprover:")]
	p.writeInventory("cluster.yaml", p.ciliumAlone)
	p.mustRun(0, "up", "--lab", "--yes")
	require.Equal(p.t, []string{"cilium"}, slices.Sorted(maps.Keys(p.releases())))
	_, kinds := p.lacking(kindsPath, "Established")
	require.Empty(p.t, kinds)
	unavailable, _ := p.lacking(servicesPath, "Available")
	require.Empty(p.t, unavailable)
	_, err := p.kubernetes().CoreV1().Namespaces().Get(p.t.Context(), "flux-system", metav1.GetOptions{})
	require.True(p.t, errors.IsNotFound(err), "%v", err)
}

// subchartComesAndGoes: with feature discovery the device plugin brings node-feature-discovery, whose kinds stand apart from
// its templates, and which cleans the nodes up in a hook when it has gone.
func (p *published) subchartComesAndGoes() {
	p.writeInventory("cluster.yaml", p.ciliumAlone+"  gpu: {devicePlugin: "+p.chart("values: {gfd: {enabled: true}}")+"}\n")
	p.mustRun(0, "up", "--lab", "--yes")
	p.valuesAreKnownToTheirCharts()
	p.everythingIsReady()
	discovery, err := p.kubernetes().AppsV1().DaemonSets("kube-system").Get(p.t.Context(), "nvidia-device-plugin-gpu-feature-discovery", metav1.GetOptions{})
	require.NoError(p.t, err)
	require.Equal(p.t, int32(1), discovery.Status.NumberReady, "on the gpu-worker alone")
	lacking, kinds := p.lacking(kindsPath, "Established")
	require.Empty(p.t, lacking)
	require.Contains(p.t, kinds, "nodefeatures.nfd.k8s-sigs.io")

	p.writeInventory("cluster.yaml", p.ciliumAlone)
	p.mustRun(0, "up", "--lab", "--yes")
	require.Equal(p.t, []string{"cilium"}, slices.Sorted(maps.Keys(p.releases())))
	events, err := p.kubernetes().CoreV1().Events("kube-system").List(p.t.Context(), metav1.ListOptions{FieldSelector: "reason=Completed"})
	require.NoError(p.t, err)
	require.True(p.t, slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
		return event.InvolvedObject.Kind == "Job" && strings.HasSuffix(event.InvolvedObject.Name, "-prune")
	}), "the hook after its removal ran")
}
