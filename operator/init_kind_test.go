package operator_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// TestAnswersThatAKindHasNoUseForAreRefused: before any host is asked, with everything else that is missing.
func TestAnswersThatAKindHasNoUseForAreRefused(t *testing.T) {
	t.Parallel()
	const missing = "no endpoint of Proxmox VE is named: add --endpoint https://HOST:8006"
	network, address, workers := netip.MustParsePrefix("192.168.20.0/24"), netip.MustParseAddr("192.168.20.1"), 0
	onlyHosts, noCluster := []operator.Kind{operator.KindHosts}, []operator.Kind{operator.KindHosts, operator.KindSystems}
	for _, test := range []struct {
		flag  string
		kinds []operator.Kind // that have no use for it
		give  func(*operator.InitOptions)
	}{
		{"host", nil, func(o *operator.InitOptions) { o.Answers.Hosts = []string{"pve"} }},
		{"cluster", noCluster, func(o *operator.InitOptions) { o.Answers.Cluster = "lab" }},
		{"bridge", onlyHosts, func(o *operator.InitOptions) { o.Answers.Bridge = "vmbr0" }},
		{"vlan", onlyHosts, func(o *operator.InitOptions) { o.Answers.VLAN = 20 }},
		{"network", onlyHosts, func(o *operator.InitOptions) { o.Answers.Network = network }},
		{"gateway", onlyHosts, func(o *operator.InitOptions) { o.Answers.Gateway = address }},
		{"first-address", onlyHosts, func(o *operator.InitOptions) { o.Answers.FirstAddress = address }},
		{"control-planes", noCluster, func(o *operator.InitOptions) { o.Answers.ControlPlanes = 1 }},
		{"workers", noCluster, func(o *operator.InitOptions) { o.Answers.Workers = &workers }},
		{"gpu-workers", noCluster, func(o *operator.InitOptions) { o.Answers.GPUWorkers = 1 }},
		{"iso-storage", noCluster, func(o *operator.InitOptions) { o.Answers.ISOStorage = "local" }},
		{"disk-storage", onlyHosts, func(o *operator.InitOptions) { o.Answers.DiskStorage = "local" }},
		{"image-factory", nil, func(o *operator.InitOptions) { o.ImageFactory = "https://factory.example" }},
		{"nas", noCluster, func(o *operator.InitOptions) { o.Answers.NAS.Endpoint, o.NASKey = "https://nas.example", "made up" }},
		{"nas-fingerprint", noCluster, func(o *operator.InitOptions) { o.Answers.NAS.Fingerprint = "aa" }},
		{"nas-pool", noCluster, func(o *operator.InitOptions) { o.Answers.NAS.Pool = "tank" }},
		{"nas-key-file", nil, func(o *operator.InitOptions) { o.NASKey = "made up" }},
	} {
		for _, kind := range []operator.Kind{"", operator.KindPlatform, operator.KindHosts, operator.KindSystems} {
			options := operator.InitOptions{Project: t.TempDir(), Answers: operator.InitAnswers{Stack: "home", Kind: kind}, Token: "made up"}
			test.give(&options)
			want := missing
			for _, one := range test.kinds {
				if one == kind {
					want = "--" + test.flag + " has no meaning for --kind " + string(kind) + ": leave it out\n" + missing
				}
			}
			_, err := operator.Init(t.Context(), options)
			require.EqualError(t, err, want, "%s %s", test.flag, kind)
			require.ErrorAs(t, err, new(*operator.RefusedError))
		}
	}
	nas := operator.InitOptions{Answers: operator.InitAnswers{Stack: "home", Kind: operator.KindHosts}, Token: "made up"}
	nas.Answers.NAS.Endpoint = "https://nas.example"
	_, err := operator.Init(t.Context(), nas)
	require.EqualError(t, err, "--nas has no meaning for --kind hosts: leave it out\n"+missing, "no key is asked for")

	_, err = operator.Init(t.Context(), operator.InitOptions{Answers: operator.InitAnswers{Stack: "home", Kind: "cluster"}, Token: "made up"})
	require.EqualError(t, err, `--kind: "cluster" is no kind of stacks: choose platform, hosts or systems`+"\n"+missing)
}
