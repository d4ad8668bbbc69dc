package components_test

import (
	"encoding/base64"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	tokenRelease    = "kubernetes:helm.sh/v3:Release"
	tokenSecret     = "kubernetes:core/v1:Secret"
	tokenKubernetes = "pulumi:providers:kubernetes"
)

// chart returns one of a repository, in a version.
func chart(repository string) components.Chart {
	return components.Chart{Repository: repository, Version: "1.2.3"}
}

// everyAddon returns all addons, with every field set.
func everyAddon() components.ClusterAddonsArgs {
	charts := chart("https://charts.example")
	return components.ClusterAddonsArgs{
		Cilium:                     &components.Cilium{Chart: charts},
		KubeletServingCertApprover: &charts,
		MetricsServer:              &charts,
		Flux: &components.Flux{
			Chart: chart("oci://registry.example/charts"),
			Git: &components.GitSource{
				URL: &url.URL{Scheme: "ssh", Host: "git.example", Path: "/cluster"}, Branch: "main", Interval: time.Minute,
				Credentials: &components.Credentials{SecretName: "git", Data: map[string]pulumi.StringInput{
					"identity": pulumi.String("made-up identity"), "known_hosts": pulumi.String("git.example"),
				}},
			},
			Kustomization: &components.Kustomization{Path: "./", Interval: 10 * time.Minute, Prune: true},
			AgeKey:        pulumi.String("made-up age key"),
		},
		TrueNAS: &components.TrueNAS{Host: "nas.example", APIKey: pulumi.String("made-up API key"), Namespace: "storage", CSI: csiFixture()},
		EtcdBackup: &components.EtcdBackup{
			Schedule: "0 */6 * * *", Image: "registry.example/talos-backup:v0.1.0-beta.3", Recipient: "age1made-up",
			Bucket: "backups", Prefix: "home/k3s-dev/etcd", Region: "garage", Endpoint: "http://nas.example:3900", PathStyle: true,
			AccessKeyID: pulumi.String("made-up ID"), SecretAccessKey: pulumi.String("made-up secret key"),
		},
		GPU: &components.GPUSupport{DevicePlugin: charts, SharesPerGPU: 4, SmokeTestImage: "registry.example/cuda:12"},
	}
}

// withAddons returns a cluster of a control plane and a worker with a GPU, and addons.
func withAddons(name string, addons components.ClusterAddonsArgs, changes ...func(*components.TalosClusterArgs)) func(*pulumi.Context, pulumi.ResourceOption) (*components.ClusterAddons, error) {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.ClusterAddons, error) {
		template, err := components.NewTalosTemplate(ctx, name+"-template", templateFixture("vmhost"), providers)
		if err != nil {
			return nil, err
		}
		worker := machineFixture(name+"-gpu-1", components.RoleWorker, 31)
		worker.GPUs = []components.GPU{{Mapping: "rtx3090"}}
		args := clusterFixture(name, machineFixture(name+"-control-1", components.RoleControlPlane, 11), worker)
		args.Templates = []*components.TalosTemplate{template}
		if addons.Cilium != nil {
			args.CNI = components.CNICilium
		}
		if addons.EtcdBackup != nil {
			args.SnapshotNamespace = components.EtcdBackupNamespace
		}
		for _, change := range changes {
			change(args)
		}
		cluster, err := components.NewTalosCluster(ctx, name, args, providers)
		if err != nil {
			return nil, err
		}
		addons.Cluster = cluster
		return components.NewClusterAddons(ctx, name+"-addons", &addons, providers)
	}
}

// inAddons returns the registrations beneath the addons, by name.
func inAddons(r *recorder.Recorder) map[string]pulumi.MockResourceArgs {
	found := map[string]pulumi.MockResourceArgs{}
	for _, args := range r.Resources {
		if strings.HasSuffix(args.RegisterRPC.GetParent(), "ClusterAddons::k3s-dev-addons") {
			found[args.Name] = args
		}
	}
	return found
}

// providerOf returns the name of the provider that a resource names.
func providerOf(args pulumi.MockResourceArgs) string {
	reference := args.RegisterRPC.GetProvider() // the URN and, behind it, the ID
	if at := strings.LastIndex(reference, "::"); at > 0 {
		reference = reference[:at]
	}
	return recorder.ShortURN(reference)
}

func TestPlanOfEveryAddon(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(r.Plan()) {
		if strings.Contains(line, " k3s-dev-addons") {
			lines = append(lines, line)
		}
	}
	golden.Equal(t, "testdata/plan/addons.golden", strings.Join(lines, ""))
}

func TestPreviewOfAddonsRegistersWhatAnUpdateDoes(t *testing.T) {
	t.Parallel()

	updated, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	previewed, err := run(t, true, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	require.Equal(t, slices.Sorted(maps.Keys(updated.Resources)), slices.Sorted(maps.Keys(previewed.Resources)))
}

func TestAddonsOfTwoClustersDoNotCollide(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		if _, err := withAddons("home", everyAddon())(ctx, providers); err != nil {
			return err
		}
		_, err := withAddons("office", everyAddon())(ctx, providers)
		return err
	})
	require.NoError(t, err)
}

func TestF26WhatIsInTheClusterGoesWithIt(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	all := inAddons(r)
	require.Equal(t, 27, len(all))
	for name, args := range all {
		require.Equal(t, "k3s-dev", recorder.ShortURN(args.RegisterRPC.GetDeletedWith()), name)
		require.Contains(t, args.RegisterRPC.GetDeletedWith(), "TalosCluster", name)
		provider := providerOf(args)
		switch {
		case strings.HasPrefix(args.TypeToken, "kubernetes:"):
			require.Equal(t, "k3s-dev-addons-kubernetes", provider, name)
		case strings.HasPrefix(args.TypeToken, "command:"):
			require.Equal(t, "command", provider, name)
		default:
			require.Equal(t, tokenKubernetes, args.TypeToken, name)
		}
	}
}

func TestTheProviderOfAddonsIsThatOfTheCluster(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	provider := r.Named(t, tokenKubernetes, "k3s-dev-addons-kubernetes").Inputs
	require.True(t, provider["kubeconfig"].IsSecret())
	require.Contains(t, provider["kubeconfig"].SecretValue().Element.StringValue(), "made-up: kubeconfigRaw")
	require.Equal(t, "k3s-dev", provider["clusterIdentifier"].StringValue())
	for _, name := range []resource.PropertyKey{"enableSecretMutable", "enableConfigMapMutable", "upsertExistingObjects", "enablePatchForce", "skipUpdateUnreachable"} {
		require.True(t, provider[name].BoolValue(), name)
	}
}

func TestKeysAreSecretAndEncoded(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	for name, want := range map[string]struct {
		namespace string
		data      map[resource.PropertyKey]string
	}{
		"sops-age": {"flux-system", map[resource.PropertyKey]string{"age.agekey": "made-up age key"}},
		"git":      {"flux-system", map[resource.PropertyKey]string{"identity": "made-up identity", "known_hosts": "git.example"}},
		"etcd-backup-bucket": {"etcd-backup", map[resource.PropertyKey]string{
			"AWS_ACCESS_KEY_ID": "made-up ID", "AWS_SECRET_ACCESS_KEY": "made-up secret key",
		}},
		"truenas-api-credentials": {"truenas-csi", map[resource.PropertyKey]string{"api-key": "made-up API key"}},
		"truenas-api":             {"storage", map[resource.PropertyKey]string{"host": "nas.example", "apiKey": "made-up API key"}},
	} {
		args := r.Named(t, tokenSecret, "k3s-dev-addons-secret-"+name)
		require.True(t, args.Inputs["data"].IsSecret(), name)
		require.Equal(t, []string{"data", "stringData"}, args.RegisterRPC.GetAdditionalSecretOutputs(), name)
		metadata := args.Inputs["metadata"].ObjectValue()
		require.Equal(t, name, metadata["name"].StringValue())
		require.Equal(t, want.namespace, metadata["namespace"].StringValue())
		got := map[resource.PropertyKey]string{}
		for key, value := range args.Inputs["data"].SecretValue().Element.ObjectValue() {
			for value.IsSecret() {
				value = value.SecretValue().Element
			}
			text, err := base64.StdEncoding.DecodeString(value.StringValue())
			require.NoError(t, err)
			got[key] = string(text)
		}
		require.Equal(t, want.data, got, name)
	}
	for name, args := range inAddons(r) {
		if args.TypeToken == tokenCommand {
			require.True(t, args.Inputs["environment"].ObjectValue()["EM_INFRA_TALOSCONFIG"].IsSecret(), name)
		}
	}
}

// Each step waits for the earlier ones: the API, the network plugin, Ready nodes, keys, Flux, the objects of Flux.
func TestAddonsComeInOrder(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	all := inAddons(r)
	chain := []string{"api", "kubernetes", "cilium", "nodes", "namespace-flux-system", "secret-sops-age", "flux2", "flux-source", "flux-kustomization"}
	for i, name := range chain[1:] {
		args := all["k3s-dev-addons-"+name]
		before := "k3s-dev-addons-" + chain[i]
		reached := append(recorder.ShortURNs(args.RegisterRPC.GetDependencies()), providerOf(args))
		require.Contains(t, reached, before, name)
	}
	require.Subset(t, recorder.ShortURNs(all["k3s-dev-addons-api"].RegisterRPC.GetDependencies()),
		[]string{"k3s-dev-kubeconfig", "k3s-dev-control-1-membership", "k3s-dev-gpu-1-membership"})
	require.Contains(t, recorder.ShortURNs(all["k3s-dev-addons-gpu-k3s-dev-gpu-1"].RegisterRPC.GetDependencies()), "k3s-dev-addons-nvidia-device-plugin")
}

func TestOperationsOnTheCluster(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	const tool = "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} "
	for name, want := range map[string]string{
		"api":               "node ready --server https://192.168.20.10:6443 --timeout 15m",
		"nodes":             "node ready --node k3s-dev-control-1 --node k3s-dev-gpu-1 --timeout 15m",
		"gpu-k3s-dev-gpu-1": "node gpu --name k3s-dev-gpu-1 --address 192.168.20.31 --devices 1 --offered 4 --smoke-test registry.example/cuda:12 --timeout 15m",
	} {
		inputs := r.Named(t, tokenCommand, "k3s-dev-addons-"+name).Inputs
		require.Equal(t, tool+want, inputs["create"].StringValue())
		require.NotContains(t, inputs, resource.PropertyKey("delete"))
	}
}

// TestOnlyNVIDIAsGPUsAreAwaited: other functions of a card, and devices of other makers, are passed through like them, and the device
// plugin does not offer them.
func TestOnlyNVIDIAsGPUsAreAwaited(t *testing.T) {
	t.Parallel()
	device := func(address, id string) components.GPU {
		return components.GPU{Mapping: "m" + strings.NewReplacer(":", "", ".", "").Replace(address), Device: &components.PCIDevice{BDF: address, DeviceID: id, SubsystemID: "1462:3881"}}
	}
	gpu, sound, other := device("0000:01:00.0", "10de:2204"), device("0000:01:00.1", "10de:1aef"), device("0000:03:00.0", "1002:73bf")
	for want, gpus := range map[string][]components.GPU{
		"--devices 1 --offered 4": {gpu, sound, other},
		"--devices 2 --offered 8": {gpu, sound, {Mapping: "rtx3090"}},
		"":                        {other},
	} {
		r, err := run(t, false, discard(func(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.ClusterAddons, error) {
			return withAddons("k3s-dev", everyAddon(), func(args *components.TalosClusterArgs) { args.Machines[1].GPUs = gpus })(ctx, providers)
		}))
		require.NoError(t, err)
		names := r.Names(tokenCommand)
		if want == "" {
			require.NotContains(t, strings.Join(names, "\n"), "addons-gpu-")
			continue
		}
		require.Contains(t, r.Named(t, tokenCommand, "k3s-dev-addons-gpu-k3s-dev-gpu-1").Inputs["create"].StringValue(), want)
	}
}

func TestKeysAloneWaitForNoNode(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{
		TrueNAS: &components.TrueNAS{Host: "nas.example", APIKey: pulumi.String("made-up"), Namespace: "kube-system"},
	})))
	require.NoError(t, err)
	require.Equal(t, []string{"k3s-dev-addons-api", "k3s-dev-addons-kubernetes", "k3s-dev-addons-secret-truenas-api"}, slices.Sorted(maps.Keys(inAddons(r))))
}

func TestWhereAChartComesFrom(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		chart components.Chart
		want  map[string]any
	}{
		"HTTP repository": {
			components.Chart{Repository: "https://charts.example", Version: "1.2.3"},
			map[string]any{"chart": "metrics-server", "version": "1.2.3", "repositoryOpts": map[string]any{"repo": "https://charts.example"}},
		},
		"OCI registry": {
			components.Chart{Repository: "oci://registry.example/charts/", Version: "1.2.3"},
			map[string]any{"chart": "oci://registry.example/charts/metrics-server", "version": "1.2.3"},
		},
		"this machine": {
			components.Chart{Path: "/charts/metrics-server-1.2.3.tgz"},
			map[string]any{"chart": "/charts/metrics-server-1.2.3.tgz"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{MetricsServer: &test.chart})))
			require.NoError(t, err)
			got := r.Named(t, tokenRelease, "k3s-dev-addons-metrics-server").Inputs.Mappable()
			for _, key := range []string{"chart", "version", "repositoryOpts"} {
				require.Equal(t, test.want[key], got[key], key)
			}
			require.Equal(t, "kube-system", got["namespace"])
			require.Equal(t, true, got["atomic"])
			require.InDelta(t, 900, got["timeout"], 0)
		})
	}
}

func TestValuesOfTheUserGoOverOurs(t *testing.T) {
	t.Parallel()

	addons := everyAddon()
	addons.Cilium.Chart.Values = map[string]any{
		"cgroup": map[string]any{"hostRoot": "/elsewhere"}, "devices": []any{"eth0"}, "ratio": 0.5, "count": 3,
	}
	r, err := run(t, false, discard(withAddons("k3s-dev", addons, func(args *components.TalosClusterArgs) { args.KubeProxyReplacement = true })))
	require.NoError(t, err)
	values := r.Named(t, tokenRelease, "k3s-dev-addons-cilium").Inputs["values"].Mappable().(map[string]any)
	require.Equal(t, map[string]any{"autoMount": map[string]any{"enabled": false}, "hostRoot": "/elsewhere"}, values["cgroup"])
	require.Equal(t, []any{"eth0"}, values["devices"])
	require.InDelta(t, 0.5, values["ratio"], 0)
	require.InDelta(t, 3, values["count"], 0)
	require.Equal(t, true, values["kubeProxyReplacement"])
	require.Equal(t, "localhost", values["k8sServiceHost"])
	require.InDelta(t, 7445, values["k8sServicePort"], 0)
	require.NotContains(t, values["securityContext"].(map[string]any)["capabilities"].(map[string]any)["ciliumAgent"], "SYS_MODULE", "Talos lets no pod load modules")
}

func TestCiliumKnowsTheClusterThatItIsIn(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon(), func(args *components.TalosClusterArgs) {
		args.Machines = args.Machines[:1]
		args.PodSubnets = append(args.PodSubnets, netip.MustParsePrefix("fd00:244::/56"))
	})))
	require.NoError(t, err)
	values := r.Named(t, tokenRelease, "k3s-dev-addons-cilium").Inputs["values"].Mappable().(map[string]any)
	require.Equal(t, map[string]any{"enabled": true}, values["ipv4"])
	require.Equal(t, map[string]any{"enabled": true}, values["ipv6"])
	require.NotContains(t, values, "k8sServiceHost")
}

// Two operators never share a node, and an operator that waits for a node forever blocks every upgrade.
func TestCiliumHasNoMoreOperatorsThanNodesForThem(t *testing.T) {
	t.Parallel()

	dear := func(m components.Machine) components.Machine {
		m.GPUs = []components.GPU{{Mapping: "rtx3090"}}
		return m
	}
	tainted := func(m components.Machine, taint string) components.Machine {
		m.Taints = map[string]string{"example.com/own": taint}
		return m
	}
	control := func(name string, last byte) components.Machine {
		return machineFixture(name, components.RoleControlPlane, last)
	}
	worker := machineFixture("worker-1", components.RoleWorker, 31)
	for name, test := range map[string]struct {
		machines []components.Machine
		want     any
	}{
		"one node":                          {[]components.Machine{control("control-1", 11)}, map[string]any{"replicas": 1.0}},
		"its only worker has a GPU":         {[]components.Machine{control("control-1", 11), dear(worker)}, map[string]any{"replicas": 1.0}},
		"its only worker is the user's own": {[]components.Machine{control("control-1", 11), tainted(worker, "yes:NoSchedule")}, map[string]any{"replicas": 1.0}},
		"a taint that only prefers":         {[]components.Machine{control("control-1", 11), tainted(worker, "yes:PreferNoSchedule")}, nil},
		"a worker":                          {[]components.Machine{control("control-1", 11), worker}, nil},
		"three control planes":              {[]components.Machine{control("control-1", 11), control("control-2", 12), control("control-3", 13)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{
				Cilium: &components.Cilium{Chart: chart("https://charts.example")},
			}, func(args *components.TalosClusterArgs) { args.Machines = test.machines })))
			require.NoError(t, err)
			values := r.Named(t, tokenRelease, "k3s-dev-addons-cilium").Inputs["values"].Mappable().(map[string]any)
			require.Equal(t, test.want, values["operator"])
		})
	}
}

func TestF30CiliumThatIsHandedOverIsLeftAlone(t *testing.T) {
	t.Parallel()

	addons := everyAddon()
	addons.Cilium.HandOver = true
	r, err := run(t, false, discard(withAddons("k3s-dev", addons)))
	require.NoError(t, err)
	release := r.Named(t, tokenRelease, "k3s-dev-addons-cilium").RegisterRPC
	require.Equal(t, []string{"chart", "version", "repositoryOpts", "values", "timeout", "atomic", "replace"}, release.GetIgnoreChanges())
	require.True(t, release.GetRetainOnDelete())
	require.Empty(t, r.Named(t, tokenRelease, "k3s-dev-addons-metrics-server").RegisterRPC.GetIgnoreChanges())
}

func TestCertificatesAreApprovedForTheNodesOfTheClusterOnly(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"providerRegex": "^(k3s-dev-control-1|k3s-dev-gpu-1)$", "providerIpPrefixes": []any{"192.168.20.0/24"}, "bypassDnsResolution": true,
	}, r.Named(t, tokenRelease, "k3s-dev-addons-kubelet-csr-approver").Inputs["values"].Mappable())
}

func TestTheDevicePluginRunsOnGPUWorkersOnly(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"runtimeClassName": "nvidia",
		"nodeSelector":     map[string]any{"nvidia.com/gpu.present": "true"},
		"tolerations":      []any{map[string]any{"operator": "Exists"}},
		"config": map[string]any{"map": map[string]any{
			"default": "version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n",
		}},
	}, r.Named(t, tokenRelease, "k3s-dev-addons-nvidia-device-plugin").Inputs["values"].Mappable())
	require.Equal(t, "nvidia", r.Named(t, "kubernetes:node.k8s.io/v1:RuntimeClass", "k3s-dev-addons-runtimeclass-nvidia").Inputs["handler"].StringValue())
}

// TestTheOperatorLeavesTheDriverToTalos, and makes the RuntimeClass itself.
func TestTheOperatorLeavesTheDriverToTalos(t *testing.T) {
	t.Parallel()

	addons, operator := everyAddon(), chart("https://charts.example")
	operator.Values = map[string]any{"devicePlugin": map[string]any{"enabled": true}}
	addons.GPU = &components.GPUSupport{Operator: &operator, SharesPerGPU: 4}
	r, err := run(t, false, discard(withAddons("k3s-dev", addons)))
	require.NoError(t, err)
	release := r.Named(t, tokenRelease, "k3s-dev-addons-gpu-operator").Inputs
	require.Equal(t, "gpu-operator", release["namespace"].StringValue())
	everyTaint := []any{map[string]any{"operator": "Exists"}}
	require.Equal(t, map[string]any{
		"driver": map[string]any{"enabled": false}, "toolkit": map[string]any{"enabled": false},
		"hostPaths":              map[string]any{"driverInstallDir": "/usr/local"},
		"daemonsets":             map[string]any{"tolerations": everyTaint},
		"node-feature-discovery": map[string]any{"worker": map[string]any{"tolerations": everyTaint}},
		"devicePlugin": map[string]any{"enabled": true, "config": map[string]any{
			"create": true, "name": "em-infra-sharing", "default": "default", "data": map[string]any{
				"default": "version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n",
			},
		}},
	}, release["values"].Mappable())
	require.Equal(t, map[string]any{
		"name": "gpu-operator", "labels": map[string]any{"pod-security.kubernetes.io/enforce": "privileged"},
	}, r.Named(t, "kubernetes:core/v1:Namespace", "k3s-dev-addons-namespace-gpu-operator").Inputs["metadata"].Mappable())
	require.Empty(t, r.Names("kubernetes:node.k8s.io/v1:RuntimeClass"))
	require.NotContains(t, r.Names(tokenRelease), " k3s-dev-addons-nvidia-device-plugin")
}

func TestFluxIsToldOfItsSource(t *testing.T) {
	t.Parallel()

	addons := everyAddon()
	addons.Flux.Git = nil
	addons.Flux.OCI = &components.OCISource{URL: &url.URL{Scheme: "oci", Host: "registry.example", Path: "/cluster"}, Tag: "latest", Interval: time.Hour}
	addons.Flux.AgeKey = nil
	oci, err := run(t, false, discard(withAddons("k3s-dev", addons)))
	require.NoError(t, err)
	git, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)

	spec := func(r *recorder.Recorder, token, name string) any {
		return r.Named(t, token, "k3s-dev-addons-"+name).Inputs["spec"].Mappable()
	}
	require.Equal(t, map[string]any{
		"url": "ssh://git.example/cluster", "interval": "1m0s", "ref": map[string]any{"branch": "main"}, "secretRef": map[string]any{"name": "git"},
	}, spec(git, "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", "flux-source"))
	require.Equal(t, map[string]any{
		"path": "./", "interval": "10m0s", "prune": true, "deletionPolicy": "Orphan",
		"sourceRef":  map[string]any{"kind": "GitRepository", "name": "flux-system"},
		"decryption": map[string]any{"provider": "sops", "secretRef": map[string]any{"name": "sops-age"}},
	}, spec(git, "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization", "flux-kustomization"))
	require.Equal(t, map[string]any{
		"url": "oci://registry.example/cluster", "interval": "1h0m0s", "ref": map[string]any{"tag": "latest"},
	}, spec(oci, "kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository", "flux-source"))
	require.NotContains(t, spec(oci, "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization", "flux-kustomization"), "decryption")
}

func TestAddonsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, discard(withAddons("k3s-dev", components.ClusterAddonsArgs{
		MetricsServer: &components.Chart{Repository: "https://charts.example"},
		Flux: &components.Flux{
			Chart: components.Chart{Repository: "https://charts.example", Version: "1.0.0", Path: "/charts/flux2"},
			Git:   &components.GitSource{Branch: "main", Tag: "v1"}, OCI: &components.OCISource{},
			Kustomization: &components.Kustomization{},
		},
		TrueNAS:    &components.TrueNAS{CSI: &components.TrueNASCSI{URL: "https://nas.example", Classes: []components.StorageClass{{Protocol: "smb"}}, Chart: &components.Chart{}}},
		EtcdBackup: &components.EtcdBackup{PathStyle: true},
		GPU:        &components.GPUSupport{SmokeTestImage: "cuda; reboot"},
	}, func(args *components.TalosClusterArgs) { args.CNI, args.SnapshotNamespace = components.CNICilium, "" })))
	require.ErrorContains(t, err, `cluster addons "k3s-dev-addons": Cilium: give it exactly when the cluster's CNI is CNICilium
MetricsServer.Version: give the exact version
Flux.Chart: give exactly one of Repository and Path
TrueNAS.CSI.Chart: give exactly one of Repository and Path
GPU.DevicePlugin: give exactly one of Repository and Path
Flux: give at most one of Git and OCI
Flux.Git.URL: give the URL of the repository
Flux.Git: give exactly one of Branch and Tag
Flux.Git.Interval: give the time between two fetches
Flux.OCI.URL: give the URL of the artifact
Flux.OCI.Tag: give the tag to follow
Flux.OCI.Interval: give the time between two fetches
Flux.Kustomization.Interval: give the time between two reconciliations
TrueNAS.Host: give its DNS name or address
TrueNAS.APIKey: give the key of its API
TrueNAS.Namespace: name the namespace of the Secret
TrueNAS.CSI.URL: give one like wss://nas.example/api/current
TrueNAS.CSI.Pool: name the pool of the volumes
TrueNAS.CSI.NFSServer: give its DNS name or address
TrueNAS.CSI.IQNBase: give the base name of the box's targets
TrueNAS.CSI.Classes[0].Name: name the class
TrueNAS.CSI.Classes[0].Protocol: give nfs or iscsi
TrueNAS.CSI.Classes[0].ReclaimPolicy: give Retain or Delete
EtcdBackup: give a cluster whose SnapshotNamespace is etcd-backup
EtcdBackup.Schedule: give the five fields of cron
EtcdBackup.Image: give a reference like registry.example/name:tag
EtcdBackup.Bucket: give the name of the bucket
EtcdBackup.Prefix: give the folder in the bucket
EtcdBackup.Region: give the region of the bucket
EtcdBackup.PathStyle: give it with an Endpoint only
EtcdBackup.Recipient: give the age key, age1…
EtcdBackup.AccessKeyID: give the key of the bucket
EtcdBackup.SecretAccessKey: give the key of the bucket
GPU.SmokeTestImage: give a reference like registry.example/name:tag`)

	_, err = run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewClusterAddons(ctx, "k3s-dev-addons", &components.ClusterAddonsArgs{}, providers)
		return err
	})
	require.ErrorContains(t, err, `cluster addons "k3s-dev-addons": Cluster: give the TalosCluster`)
}

// TestFluxTakesNoCredentialsInAURL, which would be in the state in clear. The refusal does not show them; the user of ssh is no secret.
func TestFluxTakesNoCredentialsInAURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, git, oci, want string }{
		{"the user of ssh", "ssh://git@git.example/cluster", "", ""},
		{"a password for ssh", "ssh://git:made-up@git.example/cluster", "", "Flux.Git.URL: it holds credentials: remove them from the URL, and give them as Credentials"},
		{"a token", "https://made-up@git.example/cluster", "", "Flux.Git.URL: it holds credentials: remove them from the URL, and give them as Credentials"},
		{"a registry", "", "oci://me:made-up@registry.example/cluster", "Flux.OCI.URL: it holds credentials: remove them from the URL, and give them as Credentials"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			addons := everyAddon()
			location, err := url.Parse(test.git + test.oci)
			require.NoError(t, err)
			if test.git != "" {
				addons.Flux.Git.URL = location
			} else {
				addons.Flux.Git, addons.Flux.OCI = nil, &components.OCISource{URL: location, Tag: "latest", Interval: time.Hour}
			}
			err = refusal(t, discard(withAddons("k3s-dev", addons)))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `cluster addons "k3s-dev-addons": `+test.want)
		})
	}
}
